"""hf_graph_outcome, and the results of graphs."""

from __future__ import annotations

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import GraphNotFound, ResultNotReady
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump
from tests.support.mailbox import Mailbox


async def test_the_results_come_with_the_outcome(store: Store) -> None:
    """Those of the members that no other waits for, unless they have none."""
    run = await submit(store, "a b c h", "a>b", "a>c", "a!h")
    await run.complete("a")
    await run.complete("b", result=b'"B"')
    assert await store.graphs.outcome(run.id, "") is None
    await run.complete("c", result=b'"C"')
    found = await store.graphs.outcome(run.id, "")
    assert found is not None
    state, leaves = found
    assert state == "completed"
    assert leaves is not None
    assert [(leaf.name, leaf.id) for leaf in leaves] == [("b", f"{run.id}~b"), ("c", f"{run.id}~c")]
    assert [leaf.outcome and leaf.outcome.result for leaf in leaves] == [b'"B"', b'"C"']


@pytest.mark.parametrize("edge", ["a!h", "a*h"])
async def test_a_member_whose_failure_another_waits_for_has_a_result(
    store: Store, edge: str
) -> None:
    """Only members whose success is passed on have none that the graph returns."""
    run = await submit(store, "a h", edge)
    await run.complete("a", result=b'"A"')
    if edge == "a*h":
        await run.complete("h", result=b'"H"')
    found = await store.graphs.outcome(run.id, "")
    assert found is not None
    _, leaves = found
    assert leaves is not None
    expected = [b'"A"'] if edge == "a!h" else [b'"A"', b'"H"']
    assert [leaf.outcome and leaf.outcome.result for leaf in leaves] == expected


async def test_a_process_is_notified_of_the_end(store: Store, mailbox: Mailbox, dump: Dump) -> None:
    """Once, if it has registered, even if it asked twice."""
    run = await submit(store, "a")
    for _ in range(2):
        assert await store.graphs.outcome(run.id, mailbox.process) is None
    assert violations(dump()) == []
    await run.complete("a")
    assert await mailbox.wait() == [f"completed {run.id}"]
    assert violations(dump()) == []


async def test_a_read_registers_nothing(store: Store, dump: Dump) -> None:
    """Without a process nothing is written."""
    run = await submit(store, "a")
    before = dump()
    await store.graphs.outcome(run.id, "")
    assert dump() == before


@pytest.mark.parametrize("how", ["failed", "cancelled"])
async def test_a_graph_that_did_not_complete_has_no_results(store: Store, how: str) -> None:
    """Only its state is returned."""
    run = await submit(store, "a b")
    await run.complete("b")
    await run.end("a", how)
    assert await store.graphs.outcome(run.id, "") == ("failed", None)


async def test_large_results_are_read_one_by_one(store: Store) -> None:
    """The answer only names them, and a member that was skipped is left out all the same."""
    run = await submit(store, "a b c h", "a>b", "a>c", "a!h")
    await run.complete("a")
    large = b'"' + b"x" * 60_000 + b'"'
    await run.complete("b", "c", result=large)
    found = await store.graphs.outcome(run.id, "")
    assert found is not None
    assert [leaf.outcome is None for leaf in found[1] or ()] == [False, True]
    results = await Graphs(store, Payloads(store)).results(run.id)
    assert results == {"b": large, "c": large}


async def test_a_large_graph_is_described_instead(store: Store, clock: Clock) -> None:
    """Its members are not looked through in one call."""
    keys = [f"m{n}" for n in range(2001)]
    run = await submit(store, members(keys))
    await clock.tick()
    while claims := await run.claim():
        assert set(await run.complete_together(*claims)) == set("ok ")
    assert await store.graphs.outcome(run.id, "") == ("completed", None)
    assert len(await Graphs(store, Payloads(store)).results(run.id)) == len(keys)


async def test_a_wait_for_results_may_be_too_short(store: Store) -> None:
    """Then there are none yet."""
    run = await submit(store, "a")
    graphs = Graphs(store, Payloads(store))
    with pytest.raises(ResultNotReady):
        await graphs.results(run.id, timeout_s=0.01)
    await graphs.close()


async def test_no_graph_to_read(store: Store) -> None:
    """Says so."""
    with pytest.raises(GraphNotFound):
        await store.graphs.outcome("nobody", "")
