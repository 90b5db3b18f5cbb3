"""hf_archive_restore."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.errors import IdConflict, MemberOfGraph
from holdfast.model.frames import NewFrame
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.archives import end_retention, live, picture
from tests.support.graphs import submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, again, claim_one, create_one, refused, state_of
from tests.support.waits import run_one, send, suspend


@pytest.mark.parametrize("number", range(4))
async def test_it_is_as_it_was(store: Store, clock: Clock, dump: Dump, number: int) -> None:
    """Every end, with lists, tags and a new retention; a repetition changes nothing."""
    execution_id = await live(store, clock, number)
    row = await store.archives.export(execution_id)
    before = await picture(Engine(store), execution_id)
    await end_retention(store, clock)
    await store.archives.restore(row, archived=False)
    assert await picture(Engine(store), execution_id) == before
    assert violations(dump(), clock.now_ms) == []
    page = await store.queries.list_executions(Filter(tenant=f"t{number % 3}"), 10, None)
    assert [item.id for item in page.items] == [execution_id]
    tagged = await store.queries.list_executions(Filter(tag=("n", str(number))), 10, None)
    assert [item.id for item in tagged.items] == [execution_id]
    unchanged = dump()
    await store.archives.restore(row, archived=False)
    assert dump() == unchanged
    await end_retention(store, clock)
    assert {key.split("}:", 1)[1] for key in dump()} <= {"meta"}


async def test_it_can_be_replayed(store: Store, clock: Clock) -> None:
    """That is what it is brought back for."""
    execution_id = await live(store, clock, 3)
    row = await store.archives.export(execution_id)
    await end_retention(store, clock)
    await store.archives.restore(row, archived=True)
    await store.executions.replay(execution_id, keep_steps=True, from_step="", reason="")
    claim = await claim_one(store, execution_id)
    assert set(claim.steps) == {"s1", "s2"}
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert await state_of(store, execution_id) is State.COMPLETED


async def test_an_id_that_is_taken_stays(store: Store, clock: Clock, dump: Dump) -> None:
    """Another execution of that id is not overwritten."""
    execution_id = await live(store, clock, 0)
    row = await store.archives.export(execution_id)
    await end_retention(store, clock)
    assert await create_one(store, tenant="t0", idempotency_key="key 0") == execution_id
    await refused(store.archives.restore(row, archived=False), IdConflict, dump, id=execution_id)


async def test_what_the_archive_has_is_not_archived_again(store: Store, clock: Clock) -> None:
    """Unless it did not come from there."""
    await store.archives.set_url("s3://b")
    execution_id = await live(store, clock, 0)
    row = await store.archives.export(execution_id)
    for archived, waiting in ((True, 0), (False, 1)):
        await end_retention(store, clock)
        await store.archives.forget([(row.id, row.born, row.run)])
        await store.archives.restore(row, archived=archived)
        await end_retention(store, clock)
        assert (await store.archives.waiting())[0] == waiting


async def test_waits_and_frames_come_back(store: Store, clock: Clock, dump: Dump) -> None:
    """Waitpoints, signals, frames and the document are what they were."""
    engine = Engine(store)
    claim = await run_one(store)
    frames = [NewFrame(type="text", payload=b"a"), NewFrame(type="summary", payload=b'{"n": 1}')]
    await engine.streams.append(claim.id, claim.lease, frames)
    await suspend(store, claim, "gate")
    (point,) = await engine.waitpoints.of(claim.id)
    await send(store, point, key="k")
    claim = await claim_one(store, claim.id)
    await store.executions.complete(claim.id, claim.lease, b"1")

    async def told() -> list[object]:
        page = await store.streams.read(claim.id, 0, 10)
        return [
            await engine.waitpoints.of(claim.id),
            await engine.waitpoints.signals(claim.id),
            page.frames,
            await engine.streams.summary(claim.id),
        ]

    before = await told()
    row = await store.archives.export(claim.id)
    await end_retention(store, clock)
    await store.archives.restore(row, archived=False)
    assert await told() == before
    assert violations(dump(), clock.now_ms) == []
    await engine.close()


async def test_a_member_of_a_graph_comes_back_alone(store: Store, clock: Clock, dump: Dump) -> None:
    """Its graph is gone, so it has none, and a retention of its own; all else is as it was."""
    run = await submit(store, "a b", "a>b", retention_ms=1_000)
    await run.complete("a", "b")
    member = f"{run.id}~b"
    row = await store.archives.export(member)
    before = await picture(Engine(store), member)
    assert before["execution"].pop("graph") == run.id
    await clock.advance_and_tick(1_000)
    await store.archives.restore(row, archived=True)
    after = await picture(Engine(store), member)
    assert after["execution"].pop("graph") is None
    assert after == before
    assert violations(dump(), clock.now_ms) == []
    await end_retention(store, clock)
    assert not [key for key in dump() if member in key]


async def test_a_member_that_came_back_is_replayed_without_its_graph(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It runs alone, unless its input needs results of the graph."""
    run = await submit(store, "a b c d", "a>b", "a>c:above", "b!d", retention_ms=1_000)
    await run.complete("a", "b", "c")
    ids = [f"{run.id}~{key}" for key in "abcd"]
    rows = [await store.archives.export(member) for member in ids]
    with pytest.raises(MemberOfGraph):
        await store.executions.replay(ids[0], keep_steps=False, from_step="", reason="")
    await clock.advance_and_tick(1_000)
    for row in rows:
        await store.archives.restore(row, archived=True)
    with pytest.raises(MemberOfGraph):
        await store.executions.replay(ids[2], keep_steps=False, from_step="", reason="")
    for member in (ids[0], ids[1], ids[3]):
        await store.executions.replay(member, keep_steps=False, from_step="", reason="")
        assert violations(dump(), clock.now_ms) == []
        claim = await claim_one(store, member)
        await store.executions.complete(member, claim.lease, b"2")
        assert await state_of(store, member) is State.COMPLETED
    assert violations(dump(), clock.now_ms) == []
    await end_retention(store, clock)
    assert not [key for key in dump() if run.id in key]


async def test_a_member_that_came_back_is_replayed_while_others_wait_for_the_archive(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Their graph only keeps its id taken."""
    await store.archives.set_url("s3://b")
    run = await submit(store, "a b", retention_ms=1_000)
    await run.complete("a", "b")
    await clock.advance_and_tick(1_000)
    (row, _), _ = await store.archives.batch(run.tag, 0, 10, 1 << 20)
    await store.archives.forget([(row.id, row.born, row.run)])
    await store.archives.restore(row, archived=True)
    assert violations(dump(), clock.now_ms) == []
    await again(store, row.id)
    claim = await claim_one(store, row.id)
    await store.executions.complete(row.id, claim.lease, b"2")
    assert violations(dump(), clock.now_ms) == []


@pytest.mark.parametrize("first", ["graph", "member"])
async def test_a_member_of_an_earlier_graph_is_none_of_a_newer_one(
    store: Store, clock: Clock, dump: Dump, first: str
) -> None:
    """The newer one has the same id and does not list it: it came back alone."""
    key: dict[str, Any] = {"idempotency_key": "key", "retention_ms": 1_000}
    run = await submit(store, "a b c", "a>b", "a>c:above", **key)
    await run.complete("a", "b", "c")
    ids = [f"{run.id}~{name}" for name in "bc"]
    rows = [await store.archives.export(member) for member in ids]
    await clock.advance_and_tick(1_000)
    if first == "graph":
        assert (await submit(store, "a", **key)).id == run.id
    for row in rows:
        await store.archives.restore(row, archived=True)
    if first == "member":
        assert (await submit(store, "a", **key)).id == run.id
    assert violations(dump(), clock.now_ms) == []
    await again(store, ids[0])
    assert violations(dump(), clock.now_ms) == []
    with pytest.raises(MemberOfGraph) as refusal:
        await again(store, ids[1])
    assert refusal.value.context == {"id": ids[1], "graph": run.id}
