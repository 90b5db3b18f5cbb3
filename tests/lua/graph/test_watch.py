"""hf_graph_watch, and waiting for graphs."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import GraphFailed, GraphNotFound, ResultNotReady
from holdfast.store.store import Store
from holdfast.testing.polling import wait_for
from tests.support.graphs import submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump


async def test_whoever_waits_is_told(store: Store, dump: Dump) -> None:
    """By a message, long before the next poll."""
    run = await submit(store, "a b", "a>b")
    graphs = Graphs(store, Payloads(store))
    waiting = [asyncio.ensure_future(graphs.wait(run.id, timeout_s=4)) for _ in range(3)]

    async def is_watched() -> bool:
        return any(":gs:" in key for key in dump())

    await wait_for(is_watched)
    assert violations(dump()) == []
    await run.complete("a", "b")
    assert await asyncio.gather(*waiting) == ["completed"] * 3
    assert violations(dump()) == []
    await graphs.close()


async def test_a_wait_may_be_too_short(store: Store) -> None:
    """Then the graph has no outcome yet."""
    run = await submit(store, "a")
    graphs = Graphs(store, Payloads(store))
    with pytest.raises(ResultNotReady):
        await graphs.wait(run.id, timeout_s=0.01)
    assert await graphs.outcome(run.id) is None
    await graphs.close()


async def test_a_cancelled_graph_has_no_outcome_while_members_run(store: Store) -> None:
    """It is cancelled at once and has ended when they have."""
    run = await submit(store, "a")
    await run.claim()
    await Graphs(store, Payloads(store)).cancel(run.id, policy="cancel_pending")
    assert await store.graphs.watch(run.id, "") == ("cancelled", False, False)
    await run.complete("a")
    assert await Graphs(store, Payloads(store)).outcome(run.id) == "cancelled"


async def test_results_are_those_of_the_leaves(store: Store) -> None:
    """Or of the members that are named; those without a result are left out."""
    run = await submit(store, "a b c h", "a>b", "a>c", "a!h")
    await run.complete("a", result=b'"A"')
    await run.complete("b", "c", result=b'"x"')
    graphs = Graphs(store, Payloads(store))
    assert await graphs.results(run.id) == {"b": b'"x"', "c": b'"x"'}
    assert await graphs.results(run.id, ["a", "h", "nobody"]) == {"a": b'"A"'}


async def test_a_graph_that_failed_has_no_results(store: Store) -> None:
    """The error names the members at fault, not those that were taken up."""
    run = await submit(store, "a h b c", "a!h", "b>c")
    await run.fail("a", "b")
    await run.complete("h")
    with pytest.raises(GraphFailed) as raised:
        await Graphs(store, Payloads(store)).results(run.id)
    assert raised.value.context == {"id": run.id, "state": "failed", "members": {"b": "failed"}}


async def test_no_graph_to_wait_for(store: Store) -> None:
    """Says so at once."""
    with pytest.raises(GraphNotFound):
        await Graphs(store, Payloads(store)).wait("nobody")
