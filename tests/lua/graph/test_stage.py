"""hf_graph_stage: members of a large graph, put in place unseen."""

from __future__ import annotations

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import (
    ExecutionNotFound,
    GraphNotFound,
    HoldfastError,
    IdConflict,
    LaneDraining,
    StagingLost,
)
from holdfast.model.graphs import Edge, NewGraph, Shape
from holdfast.model.listing import Filter
from holdfast.store import graphs as store_graphs
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import GraphRun, edges, members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_in


class LostCommit(Exception):
    """The caller died before it created what it had staged."""


async def stage_only(store: Store, new: NewGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage a graph and die."""

    async def die(*_: object) -> list[object]:
        raise LostCommit

    with monkeypatch.context() as patch:
        patch.setattr(store.graphs, "_create", die)
        with pytest.raises(LostCommit):
            await store.graphs.create(new)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_graphs, "MEMBERS_IN_CALL", 2)


def five() -> Shape:
    """Five members in three chunks."""
    return Shape(
        members=members("abcd", tags={"t": "1"}) | members("e", deadline_ms=1_000, delay_ms=500),
        edges=edges("a>b", "b>c", "c>d", "a>e"),
    )


async def test_a_staged_graph_is_created_whole(store: Store, clock: Clock, dump: Dump) -> None:
    """It is the same as one that fits into a call."""
    run = await submit(store, five().members, "a>b", "b>c", "c>d", "a>e")
    await clock.tick()
    assert await run.states() == "waiting" + 4 * " waiting_children"
    assert violations(dump(), clock.now_ms) == []
    await run.complete("a")
    assert await run.states() == "completed waiting waiting_children waiting_children delayed"
    await clock.advance_and_tick(1_000)
    await run.complete("b", "c", "d")
    assert (await run.states("e"), await run.state()) == ("expired", "failed")
    assert violations(dump(), clock.now_ms) == []


async def test_nobody_sees_what_is_staged(
    store: Store, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No list, no count, no claim, no look at a member or at the graph, no change of one."""
    await stage_only(store, NewGraph(shape=five(), id="g"), monkeypatch)
    with pytest.raises(GraphNotFound):
        await store.graphs.describe("g")
    for call in (
        store.queries.describe("g~a"),
        store.queries.explain_facts("g~a"),
        store.queries.history("g~a"),
        store.executions.cancel("g~a", ""),
        store.executions.watch("g~a", ""),
    ):
        with pytest.raises(ExecutionNotFound):
            await call
    for wanted in (Filter(), Filter(tag=("t", "1")), Filter(graph="g")):
        assert (await store.queries.list_executions(wanted, 10, None)).items == ()
    assert await store.queries.count(None) == []
    assert await claim_in(store, store.tag_of("g"), limit=10) == []
    assert (await Graphs(store, Payloads(store)).list()).items == []
    assert violations(dump()) == []


async def test_what_was_abandoned_is_removed(
    store: Store, clock: Clock, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a minute nothing is left of it."""
    empty = {key for key in dump() if not key.endswith("}:meta")}
    await stage_only(store, NewGraph(shape=five(), id="g"), monkeypatch)
    await clock.advance_and_tick(store_graphs.STAGING_TTL_MS - 1)
    assert any(":x:g~a" in key for key in dump())
    await clock.advance_and_tick(1)
    assert {key for key in dump() if not key.endswith("}:meta")} == empty


async def test_another_caller_goes_on_where_one_died(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same content is staged once, whoever stages it."""
    new = NewGraph(shape=five(), id="g")
    await stage_only(store, new, monkeypatch)
    _, version, duplicate = await store.graphs.create(new)
    assert (version, duplicate) == (1, False)
    assert (await store.graphs.create(new))[2]
    assert len((await store.graphs.members("g"))[1]) == 5


async def test_what_is_being_removed_can_be_staged_again(
    store: Store, clock: Clock, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some members are gone, and are staged with the others."""
    new = NewGraph(shape=Shape(members=members(f"m{n}" for n in range(60))), id="g")
    await stage_only(store, new, monkeypatch)
    await clock.advance(store_graphs.STAGING_TTL_MS)
    await store.timers.tick(store.tag_of("g"), 1)
    assert sum(":x:g~" in key for key in dump()) == 10
    await store.graphs.create(new)
    await clock.tick()
    assert len((await store.graphs.members("g"))[1]) == 60
    assert violations(dump(), clock.now_ms) == []


async def test_other_content_under_the_same_id_is_refused(
    store: Store, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the first is only staged."""
    await stage_only(store, NewGraph(shape=five(), id="g"), monkeypatch)
    before = dump()
    other = Shape(members=members("abcdef"))
    with pytest.raises(IdConflict):
        await store.graphs.create(NewGraph(shape=other, id="g"))
    with pytest.raises(IdConflict):
        await store.graphs.create(NewGraph(shape=Shape(members=members("a")), id="g"))
    assert dump() == before


async def test_a_refused_chunk_refuses_all(store: Store, clock: Clock, dump: Dump) -> None:
    """Nothing of it is ever seen, and what was staged goes by itself."""
    await store.lanes.set_state("closed", "draining")
    before = {key for key in dump() if not key.endswith("}:meta")}
    with pytest.raises(LaneDraining):
        await submit(store, members("abcd") | members("e", lane="closed"))
    assert await store.queries.count(None) == []
    await clock.advance_and_tick(store_graphs.STAGING_TTL_MS)
    assert {key for key in dump() if not key.endswith("}:meta")} == before


async def test_a_staging_that_was_lost_is_done_again(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller that is slow beyond the minute stages once more."""
    create = store.graphs._create
    lost: list[HoldfastError] = []

    async def slow(*args: object) -> list[object]:
        if not lost:
            await clock.advance_and_tick(store_graphs.STAGING_TTL_MS)
        try:
            return await create(*args)  # type: ignore[arg-type]
        except StagingLost as error:
            lost.append(error)
            raise

    monkeypatch.setattr(store.graphs, "_create", slow)
    run = await submit(store, five().members, "a>b")
    assert len(lost) == 1
    await clock.tick()
    assert await run.states("a", "b") == "waiting waiting_children"


async def test_ten_thousand_members(store: Store, clock: Clock) -> None:
    """They are there at once for readers, and start by timer; each can be ended meanwhile."""
    keys = [f"m{n}" for n in range(9_999)]
    more = [Edge(source=key, target="end") for key in keys[:50]]
    store_graphs.MEMBERS_IN_CALL = 100
    run = await submit(store, members([*keys, "end"]), more=more)
    graph, _ = await store.graphs.describe(run.id)
    assert (graph.size, graph.open) == (10_000, 10_000)
    assert await run.states("m9998") == "waiting_children"
    await run.cancel("m9998")
    assert (await store.queries.describe(f"{run.id}~m9997")).state == "waiting_children"
    await clock.tick()
    assert await run.states("m9997", "m9998") == "waiting cancelled"
    counts = {count.state: count.count for count in await store.queries.count(None)}
    assert counts == {"waiting": 9_998, "waiting_children": 1, "cancelled": 1}
    await Graphs(store, Payloads(store)).cancel(run.id)
    await clock.tick()
    assert await run.state() == "cancelled"


async def test_members_that_start_by_timer_can_be_told_before(store: Store, clock: Clock) -> None:
    """An upstream that started early may end before its dependents have started."""
    keys = [f"m{n}" for n in range(600)]
    more = [Edge(source="m0", target=key) for key in keys[1:]]
    store_graphs.MEMBERS_IN_CALL = 100
    run = await submit(store, members(keys), more=more)
    await run.complete("m0")
    assert isinstance(run, GraphRun)
    await clock.tick()
    assert set((await run.states(*keys[1:])).split()) == {"waiting"}
