"""hf_graph_describe."""

from __future__ import annotations

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import GraphNotFound
from holdfast.model.graphs import Edge
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump


async def test_a_graph_as_a_whole(store: Store, clock: Clock) -> None:
    """Counts and times, before its end and after it."""
    run = await submit(
        store, "a b", tenant="t", deadline_ms=60_000, retention_ms=5_000, idempotency_key="k"
    )
    start = clock.now
    graph, _ = await store.graphs.describe(run.id)
    assert (graph.tenant, graph.idempotency_key, graph.created_at) == ("t", "k", start)
    assert (graph.deadline_at, graph.completed_at, graph.forget_at) == (
        from_ms(clock.now_ms + 60_000), None, None,
    )  # fmt: skip
    await clock.advance(1_000)
    await run.fail("a")
    graph, _ = await store.graphs.describe(run.id)
    assert (graph.open, graph.failures) == (1, 1)
    await run.complete("b")
    graph, events = await store.graphs.describe(run.id)
    assert (graph.completed_at, graph.forget_at) == (clock.now, from_ms(clock.now_ms + 5_000))
    assert events[-1].data == {"state": "failed"}
    assert events[-1].at == clock.now


async def test_a_graph_goes_with_its_members(store: Store, clock: Clock) -> None:
    """No member goes before, and nothing is left."""
    run = await submit(store, [f"m{n}" for n in range(70)], retention_ms=5_000)
    await run.complete("m0")
    await clock.advance_and_tick(30 * 86_400_000)
    assert await run.states("m0") == "completed"
    await Graphs(store, Payloads(store)).cancel(run.id)
    await clock.advance_and_tick(4_999)
    assert await run.states("m0") == "completed"
    await clock.advance_and_tick(1)
    with pytest.raises(GraphNotFound):
        await store.graphs.describe(run.id)
    assert await store.queries.count(None) == []


@pytest.mark.parametrize("archive", [None, "s3://b"])
async def test_a_graph_that_is_being_removed_is_gone(
    store: Store, clock: Clock, dump: Dump, archive: str | None
) -> None:
    """Readers get no part of its results, and a replay does not find half of it."""
    await store.archives.set_url(archive)
    keys = [f"m{n}" for n in range(70)]
    more = [Edge(source=key, target="last") for key in keys]
    run = await submit(store, [*keys, "last"], more=more, retention_ms=5_000)
    other = await submit(store, keys, retention_ms=5_000)
    await run.complete(*keys[:69])
    await run.fail("m69")
    await other.complete(*keys)
    await clock.advance(5_000)
    await store.timers.tick(run.tag, 1)
    if other.tag != run.tag:
        await store.timers.tick(other.tag, 1)
    else:
        await store.timers.tick(run.tag, 2)
    graphs = Graphs(store, Payloads(store))
    for call in (graphs.replay(run.id), graphs.results(other.id), graphs.describe(run.id)):
        with pytest.raises(GraphNotFound):
            await call
    assert (await graphs.list()).items == []
    assert violations(dump()) == []
    await clock.tick()
    assert [key for key in dump() if ":gm:" in key] == []
    # Their ids stay taken while members wait for the archive.
    kept = sum(":graph:" in key for key in dump())
    assert kept == (0 if archive is None else 2)
    assert violations(dump()) == []
    await store.archives.set_url(None)
    assert [key for key in dump() if ":graph:" in key] == []
    assert violations(dump()) == []


async def test_retention_follows_the_outcome(store: Store, clock: Clock) -> None:
    """As for executions: a day, or a week for what failed."""
    good, bad = await submit(store, "a"), await submit(store, "a")
    await good.complete("a")
    await bad.fail("a")
    await clock.advance_and_tick(86_400_000)
    with pytest.raises(GraphNotFound):
        await store.graphs.describe(good.id)
    assert await bad.state() == "failed"
    await clock.advance_and_tick(6 * 86_400_000)
    with pytest.raises(GraphNotFound):
        await store.graphs.describe(bad.id)
