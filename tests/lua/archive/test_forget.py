"""hf_archive_forget."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.errors import GraphNotFound, IdempotencyConflict
from holdfast.model.executions import NewExecution
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.archives import end_retention, live
from tests.support.graphs import submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, complete_one


async def test_nothing_of_it_remains_and_a_repetition_is_harmless(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """As if retention had removed it."""
    await store.archives.set_url("s3://b")
    execution_id = await live(store, clock, 0)
    await end_retention(store, clock)
    (row,), _ = await store.archives.batch(store.tag_of(execution_id), 0, 10, 1 << 20)
    identity = [(row.id, row.born, row.run)]
    assert await store.archives.forget(identity) == 1
    assert {key.split("}:", 1)[1] for key in dump()} <= {"meta", "settings"}
    assert await store.archives.forget(identity) == 0


async def test_only_what_waits_as_it_was_read_is_forgotten(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Another birth, another run, still in its retention, unknown: all stay."""
    await store.archives.set_url("s3://b")
    kept = await complete_one(store)
    await end_retention(store, clock)
    fresh = await complete_one(store)
    (row,), _ = await store.archives.batch(store.tag_of(kept), 0, 10, 1 << 20)
    born = (await store.archives.export(fresh)).born
    before = dump()
    wrong = [(kept, row.born + 1, 0), (kept, row.born, 1), (fresh, born, 0), ("unknown", 1, 0)]
    assert await store.archives.forget(wrong) == 0
    assert dump() == before
    assert violations(dump(), clock.now_ms) == []


async def test_many_are_forgotten_over_all_partitions(store: Store, clock: Clock) -> None:
    """In as many calls as it takes."""
    await store.archives.set_url("s3://b")
    ids = [await complete_one(store) for _ in range(30)]
    rows = [await store.archives.export(execution_id) for execution_id in ids]
    await end_retention(store, clock)
    assert await store.archives.forget((r.id, r.born, r.run) for r in rows) == 30
    assert await store.archives.waiting() == (0, None)


async def test_members_of_a_graph_wait_for_the_archive(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """When the retention of their graph is over; the graph itself goes."""
    await store.archives.set_url("s3://b")
    engine = Engine(store)
    members = {key: NewExecution(kind="k") for key in "ab"}
    graph = await engine.graphs.submit(members, retention_ms=1_000)
    for key in "ab":
        claim = await claim_one(store, graph.members[key])
        await store.executions.complete(claim.id, claim.lease, b"1")
    for _ in range(3):
        await clock.advance_and_tick(1_000)
    assert violations(dump(), clock.now_ms) == []
    rows, _ = await store.archives.batch(store.tag_of(graph.id), 0, 10, 1 << 20)
    assert {row.id for row in rows} == set(graph.members.values())
    await store.archives.forget([(row.id, row.born, row.run) for row in rows])
    assert not [key for key in dump() if graph.id in key]
    await engine.close()


async def test_a_graph_whose_members_wait_for_the_archive_is_not_made_again(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """As with an execution: the same submission is a duplicate for as long as they wait."""
    await store.archives.set_url("s3://b")
    engine = Engine(store)
    # More than one firing of the timer removes.
    members = {f"m{n}": NewExecution(kind="k") for n in range(60)}
    again: dict[str, Any] = {"idempotency_key": "a", "retention_ms": 1_000}
    graph = await engine.graphs.submit(members, **again)
    await engine.graphs.cancel(graph.id)
    for _ in range(3):
        await clock.advance_and_tick(1_000)
        assert violations(dump(), clock.now_ms) == []
    with pytest.raises(GraphNotFound):
        await engine.graphs.describe(graph.id)
    rows, _ = await store.archives.batch(store.tag_of(graph.id), 0, 100, 1 << 20)
    ended = [(row.id, row.born, row.run) for row in rows]
    assert await store.archives.forget(ended[:59]) == 59
    repeated = await engine.graphs.submit(members, **again)
    assert (repeated.id, repeated.duplicate) == (graph.id, True)
    with pytest.raises(IdempotencyConflict):
        await engine.graphs.submit({"b": NewExecution(kind="k")}, **again)
    assert violations(dump(), clock.now_ms) == []
    await store.archives.forget(ended)
    assert not [key for key in dump() if graph.id in key]
    assert not (await engine.graphs.submit(members, **again)).duplicate
    await engine.close()


async def test_a_graph_keeps_its_id_while_its_only_member_waits(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """One that waits is enough."""
    await store.archives.set_url("s3://b")
    engine = Engine(store)
    again: dict[str, Any] = {"idempotency_key": "a", "retention_ms": 1_000}
    graph = await engine.graphs.submit({"a": NewExecution(kind="k")}, **again)
    await engine.graphs.cancel(graph.id)
    await clock.advance_and_tick(1_000)
    repeated = await engine.graphs.submit({"a": NewExecution(kind="k")}, **again)
    assert (repeated.id, repeated.duplicate) == (graph.id, True)
    assert violations(dump(), clock.now_ms) == []
    await engine.close()


async def test_a_member_that_waits_once_more_counts_once_more(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It was given back though an archive is set; the graph keeps its id for the others."""
    await store.archives.set_url("s3://b")
    run = await submit(store, "a b", retention_ms=1_000)
    await run.complete("a", "b")
    await clock.advance_and_tick(1_000)
    tag = store.tag_of(run.id)
    assert await store.caller.write("hf_archive_abandon", tag, "1") == [1, 1]
    await clock.tick()
    (first, last), _ = await store.archives.batch(tag, 0, 10, 1 << 20)
    await store.archives.forget([(first.id, first.born, first.run)])
    assert await store.client.call(["HGET", f"{tag}:graph:{run.id}", "held"]) == b"1"
    await store.archives.forget([(last.id, last.born, last.run)])
    assert not [key for key in dump() if run.id in key]


async def test_a_graph_that_is_archived_while_it_is_removed_leaves_nothing(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Its first members are archived before its last ones wait; or there is no archive any more."""
    engine = Engine(store)
    for unset in (False, True):
        await store.archives.set_url("s3://b")
        members = {f"m{n}": NewExecution(kind="k") for n in range(60)}
        graph = await engine.graphs.submit(members, retention_ms=1_000)
        await engine.graphs.cancel(graph.id)
        tag = store.tag_of(graph.id)
        await clock.advance(1_000)
        await store.timers.tick(tag, 1)
        rows, _ = await store.archives.batch(tag, 0, 100, 1 << 20)
        assert len(rows) == 50
        await store.archives.forget([(row.id, row.born, row.run) for row in rows])
        assert violations(dump(), clock.now_ms) == []
        await clock.advance_and_tick(1_000)
        if unset:
            assert await store.caller.write("hf_archive_abandon", tag, "2") == [2, 8]
            assert violations(dump(), clock.now_ms) == []
            await store.archives.set_url(None)
            await clock.tick()
        rows, _ = await store.archives.batch(tag, 0, 100, 1 << 20)
        await store.archives.forget([(row.id, row.born, row.run) for row in rows])
        assert violations(dump(), clock.now_ms) == []
        assert not [key for key in dump() if graph.id in key]
    await engine.close()
