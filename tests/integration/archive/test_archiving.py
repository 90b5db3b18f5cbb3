"""Executions move to the archive before retention removes them, and can be read there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.archive import Archive, Archiver, ArchiverSettings, audit_log
from holdfast.engine import Engine
from holdfast.errors import ExecutionNotFound, Held, InvalidInput, InvalidRecord, LostRace
from holdfast.fencing import FolderObjects, MemoryObjects, WriterLease
from holdfast.model import exports
from holdfast.model.exports import Exported
from holdfast.model.listing import Filter
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.archives import end_retention, live, picture
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, state_of

SMALL = ArchiverSettings(segment_rows=5, ttl_ms=5_000)


class Reader:
    """An archive in the words of an engine."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def __getattr__(self, name: str) -> Any:
        async def ask(execution_id: str) -> Any:
            return getattr(await self._archive.get(execution_id), name)()

        return ask


@pytest.fixture
async def archiving(store: Store) -> Store:
    await store.archives.set_url("file:///nowhere")
    return store


async def test_what_has_ended_moves_whole(
    archiving: Store, clock: Clock, engine: Engine, dump: Dump
) -> None:
    """Record, input, result, tags, attempts, steps and history are the same in both places."""
    ids = [await live(archiving, clock, number) for number in range(12)]
    before = [await picture(engine, execution_id) for execution_id in ids]
    await end_retention(archiving, clock)
    assert await archiving.archives.waiting() != (0, None)
    assert violations(dump(), clock.now_ms) == []
    held = [await picture(engine, execution_id) for execution_id in ids]
    assert held == before
    objects = MemoryObjects()
    report = await Archiver(archiving, objects, SMALL).run_once()
    assert (report.archived, report.segments) == (12, 3)
    reader = Reader(Archive(objects))
    assert [await picture(reader, execution_id) for execution_id in ids] == before
    for execution_id in ids:
        with pytest.raises(ExecutionNotFound):
            await engine.describe(execution_id)
    assert {key.split("}:", 1)[1] for key in dump()} <= {"meta", "settings"}
    assert await Archive(objects).verify() == (12, [])


async def test_without_an_archive_retention_forgets(store: Store, clock: Clock) -> None:
    """Nothing waits for what is not there."""
    execution_id = await live(store, clock)
    await end_retention(store, clock)
    assert await store.archives.waiting() == (0, None)
    with pytest.raises(ExecutionNotFound):
        await store.queries.describe(execution_id)


async def test_a_second_run_finds_nothing(archiving: Store, clock: Clock) -> None:
    """Everything is in the archive once."""
    objects = MemoryObjects()
    for number in range(3):
        await live(archiving, clock, number)
    await end_retention(archiving, clock)
    assert (await Archiver(archiving, objects, SMALL).run_once()).archived == 3
    again = await Archiver(archiving, objects, SMALL).run_once()
    assert (again.archived, again.recovered, again.segments) == (0, 0, 0)
    assert await Archive(objects).verify() == (3, [])


async def test_one_archiver_at_a_time(archiving: Store) -> None:
    """The others are told who it is."""
    objects = MemoryObjects()
    async with WriterLease(objects, "archive", holder="first"):
        with pytest.raises(Held) as held:
            await Archiver(archiving, objects, SMALL).run_once()
    assert held.value.context["holder"] == "first"


async def test_a_replay_takes_it_out_of_the_queue(
    archiving: Store, clock: Clock, dump: Dump
) -> None:
    """It runs again in the store, and its next end is archived as a whole."""
    objects = MemoryObjects()
    execution_id = await live(archiving, clock, 3)
    await end_retention(archiving, clock)
    await archiving.executions.replay(execution_id, keep_steps=False, from_step="", reason="")
    assert await archiving.archives.waiting() == (0, None)
    assert violations(dump(), clock.now_ms) == []
    claim = await claim_one(archiving, execution_id)
    await archiving.executions.complete(execution_id, claim.lease, b'"now"')
    await end_retention(archiving, clock)
    await Archiver(archiving, objects, SMALL).run_once()
    row = await Archive(objects).get(execution_id)
    assert (row.run, row.result()) == (1, b'"now"')
    assert [event.event for event in row.history()].count("replayed") == 1


async def test_a_replay_between_commit_and_forget_is_safe(archiving: Store, clock: Clock) -> None:
    """The archive has the first end; the execution goes on, and its second end wins there."""
    objects = MemoryObjects()
    execution_id = await live(archiving, clock, 3)
    await end_retention(archiving, clock)

    async def replay(point: str) -> None:
        if point == "before forget":
            await archiving.executions.replay(
                execution_id, keep_steps=True, from_step="", reason=""
            )

    await Archiver(archiving, objects, SMALL, at=replay).run_once()
    assert await state_of(archiving, execution_id) is State.WAITING
    assert (await Archive(objects).get(execution_id)).run == 0
    claim = await claim_one(archiving, execution_id)
    await archiving.executions.complete(execution_id, claim.lease, b"2")
    await end_retention(archiving, clock)
    await Archiver(archiving, objects, SMALL).run_once()
    archive = Archive(objects)
    assert (await archive.get(execution_id)).result() == b"2"
    assert [item.id for item in (await archive.page()).items] == [execution_id]
    assert [row.run async for row in archive.rows()] == [1]
    assert await archive.verify() == (2, [])


async def test_a_name_that_is_used_again_is_another_execution(
    archiving: Store, clock: Clock
) -> None:
    """A late forget of the first does not touch the second, though all its counters are equal."""
    objects = MemoryObjects()
    await live(archiving, clock, 0, id="order-1", tenant="default")
    await end_retention(archiving, clock)
    rows, _ = await archiving.archives.batch(archiving.tag_of("order-1"), 0, 10, 1 << 20)
    await Archiver(archiving, objects, SMALL).run_once()
    await live(archiving, clock, 0, id="order-1", tenant="default")
    await end_retention(archiving, clock)
    assert await archiving.archives.forget([(r.id, r.born, r.run) for r in rows]) == 0
    assert await state_of(archiving, "order-1") is State.COMPLETED
    await Archiver(archiving, objects, SMALL).run_once()
    assert await Archive(objects).verify() == (2, [])
    assert len((await Archive(objects).page()).items) == 1


async def test_disabling_gives_what_waits_back_to_retention(
    archiving: Store, clock: Clock, dump: Dump
) -> None:
    """Nothing stays for ever but where the archive was."""
    for number in range(4):
        await live(archiving, clock, number)
    await end_retention(archiving, clock)
    await archiving.archives.set_url(None)
    await clock.tick()
    assert {key.split("}:", 1)[1] for key in dump()} <= {"meta", "settings"}


async def test_pages_and_filters(archiving: Store, clock: Clock) -> None:
    """Newest first over all segments, by the filters of the store, with a stable cursor."""
    objects = MemoryObjects()
    ids = []
    for number in range(23):
        ids.append(await live(archiving, clock, number, kind=f"k{number % 2}"))
        await clock.advance(1_000)
    middle = clock.now
    ids.append(await live(archiving, clock, 23))
    await end_retention(archiving, clock)
    await Archiver(archiving, objects, SMALL).run_once()
    archive = Archive(objects)
    found: list[str] = []
    cursor = None
    while True:
        page = await archive.page(limit=7, cursor=cursor)
        found += [item.id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == ids[::-1]

    async def ids_of(**fields: Any) -> list[str]:
        return [item.id for item in (await archive.page(Filter(**fields), limit=100)).items]

    assert await ids_of(tenant="t1") == [i for n, i in enumerate(ids) if n % 3 == 1][::-1]
    assert await ids_of(kind="k1") == [i for n, i in enumerate(ids[:23]) if n % 2 == 1][::-1]
    cancelled = [i for n, i in enumerate(ids) if n % 4 == 2][::-1]
    assert await ids_of(state=State.CANCELLED) == cancelled
    assert await ids_of(tag=("n", "5")) == [ids[5]]
    assert await ids_of(since=middle) == [ids[23]]
    assert await ids_of(until=middle) == ids[:23][::-1]
    assert await ids_of(lane="other") == []
    # The stored form of a prefix of the tenant t1, which is minted ids without it, too.
    assert await ids_of(tenant="t1", id_prefix=f"t1={ids[1][:18]}") == [ids[1]]
    for wrong in ("x", "1", ".a"):
        with pytest.raises(InvalidInput):
            await archive.page(cursor=wrong)


async def test_small_segments_are_merged(archiving: Store, clock: Clock) -> None:
    """However slowly executions trickle in, the manifest stays small and nothing is lost."""
    objects = MemoryObjects()
    settings = ArchiverSettings(segment_rows=40, ttl_ms=5_000)
    ids = []
    for number in range(20):
        ids.append(await live(archiving, clock, number))
        await end_retention(archiving, clock)
        await Archiver(archiving, objects, settings).run_once()
    status = await Archive(objects).status()
    assert status.executions == 20
    assert status.segments < 8
    assert await Archive(objects).verify() == (20, [])
    stored = [entry.key async for entry in objects.list("objects/")]
    assert len(stored) == status.segments
    for execution_id in ids:
        assert (await Archive(objects).get(execution_id)).id == execution_id


async def test_a_reader_survives_that_segments_are_replaced(archiving: Store, clock: Clock) -> None:
    """It has the old manifest in hand when the old segments go."""
    objects = MemoryObjects()
    execution_id = await live(archiving, clock, 1)
    other = await live(archiving, clock, 2)
    await end_retention(archiving, clock)
    archiver = Archiver(archiving, objects, SMALL)
    await archiver.run_once()
    archive = Archive(objects)
    stale = await archive.manifest.read()
    await archiver.erase_tenant("t2", by="test")
    fresh = archive.manifest.read
    answers = [stale]

    async def read() -> Any:
        return answers.pop() if answers else await fresh()

    archive.manifest.read = read  # type: ignore[method-assign]
    assert (await archive.get(execution_id)).id == execution_id
    with pytest.raises(ExecutionNotFound):
        await archive.get(other)


async def test_reading_segments_that_are_replaced_meanwhile_is_a_lost_race(
    archiving: Store, clock: Clock, tmp_path: Path
) -> None:
    """Whether its index is missing first, or the whole of it."""
    objects = FolderObjects(tmp_path)
    await live(archiving, clock, 0)
    await end_retention(archiving, clock)
    await Archiver(archiving, objects, SMALL).run_once()
    archive = Archive(objects)
    for known in (True, False):
        if known:
            await archive.page()
        else:
            archive = Archive(objects)
        for name in [name async for name in _names(objects)]:
            await objects.delete(name)
        with pytest.raises(LostRace):
            [row async for row in archive.rows()]


async def test_erasing_a_tenant_leaves_nothing_and_a_proof(
    archiving: Store, clock: Clock, tmp_path: Path
) -> None:
    """Its rows are in no object any more; all others are untouched; the audit log says so."""
    objects = FolderObjects(tmp_path)
    for number in range(12):
        await live(archiving, clock, number, input=b"secret-of-t%d" % (number % 3) * 20)
    await live(archiving, clock, 1, tenant="alone")
    await end_retention(archiving, clock)
    archiver = Archiver(archiving, objects, SMALL)
    await archiver.run_once()
    before = {row.id: row async for row in Archive(objects).rows()}
    old = [name async for name in _names(objects)]
    proof = await archiver.erase_tenant("t1", by="ops", reason="request 17")
    assert (proof.executions, proof.confirmed, proof.by) == (4, True, "ops")
    after = {row.id: row async for row in Archive(objects).rows()}
    assert after == {i: row for i, row in before.items() if row.tenant != "t1"}
    assert await Archive(objects).verify() == (9, [])
    left = [name async for name in _names(objects)]
    assert not {one["segment"] for one in proof.replaced} & set(left)
    assert {one["segment"] for one in proof.replaced} <= set(old)
    (entry,) = await audit_log(Archive(objects))
    assert (entry["event"], entry["tenant"], entry["confirmed"]) == ("tenant_erased", "t1", True)
    again = await archiver.erase_tenant("t1", by="ops")
    assert (again.executions, again.replaced) == (0, [])


async def test_erasing_a_tenant_removes_its_sessions_with_their_transcripts(
    archiving: Store,
) -> None:
    """From the store; sessions of other tenants stay, and a name is required."""
    engine = Engine(archiving)
    await engine.tasks.publish({"talk": {"conversation": {}}})
    for tenant in ("t1", "t2"):
        for user in ("ann", "bob"):
            key = SessionKey(tenant=tenant, endpoint="talk", conversation="room", user=user)
            await engine.sessions.deliver("talk", Activity(key=key, payload=b'{"text":"hi"}'))
    archiver = Archiver(archiving, MemoryObjects(), SMALL)
    with pytest.raises(InvalidInput):
        await archiver.erase_tenant("", by="ops")
    proof = await archiver.erase_tenant("t1", by="ops")
    assert (proof.sessions, proof.executions) == (2, 0)
    left = await engine.sessions.list()
    assert {session.key.tenant for session in left.items} == {"t2"}
    assert len(left.items) == 2
    await engine.close()


async def _names(objects: FolderObjects) -> Any:
    async for entry in objects.list("objects/"):
        yield entry.key


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
async def test_damage_is_found(archiving: Store, clock: Clock, damage: str) -> None:
    """L15, L16: the digest in the manifest is that of the bytes that were sent."""
    objects = MemoryObjects()
    await live(archiving, clock)
    await end_retention(archiving, clock)
    await Archiver(archiving, objects, SMALL).run_once()
    archive = Archive(objects)
    (name,) = [entry.key async for entry in objects.list("objects/")]
    found = await objects.get(name)
    assert found is not None
    if damage == "gone":
        await objects.delete(name)
    else:
        body = found.body[:-1] if damage == "cut" else b"x" + found.body[1:]
        await objects.put_if_version(name, body, found.version)
    _, problems = await archive.verify()
    assert len(problems) == 1
    if damage == "gone":
        with pytest.raises(InvalidRecord):
            await archive.page()


async def test_an_execution_as_a_file(archiving: Store, clock: Clock, dump: Dump) -> None:
    """Exported, brought back into the store, replayed there; archived again only if it ran."""
    objects = MemoryObjects()
    execution_id = await live(archiving, clock, 1)
    exported = await archiving.archives.export(execution_id)
    before = await picture(Engine(archiving), execution_id)
    await end_retention(archiving, clock)
    await Archiver(archiving, objects, SMALL).run_once()
    file = (await Archive(objects).get(execution_id)).to_json()
    again = exports.from_json(file)
    assert again.fields == {k: v for k, v in exported.fields.items() if k != b"due"}
    assert again.sections == exported.sections
    for _ in range(2):
        assert await archiving.archives.restore(again, archived=True) is State.COMPLETED
    assert await picture(Engine(archiving), execution_id) == before
    assert violations(dump(), clock.now_ms) == []
    await end_retention(archiving, clock)
    assert await archiving.archives.waiting() == (0, None)
    await archiving.archives.restore(again, archived=True)
    await archiving.executions.replay(execution_id, keep_steps=False, from_step="", reason="")
    claim = await claim_one(archiving, execution_id)
    await archiving.executions.complete(execution_id, claim.lease, b"9")
    await end_retention(archiving, clock)
    assert (await Archiver(archiving, objects, SMALL).run_once()).archived == 1
    assert (await Archive(objects).get(execution_id)).result() == b"9"


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"holdfast_execution": 2}', b'{"holdfast_execution": 1}']
)
def test_a_file_of_something_else_is_refused(data: bytes) -> None:
    """Nothing is written for it."""
    with pytest.raises(InvalidInput):
        exports.from_json(data)


def test_what_has_not_ended_is_no_file() -> None:
    """The state in a file is checked."""
    fields = {b"tenant": b"t", b"lane": b"l", b"kind": b"k", b"state": b"waiting", b"born": b"1"}
    with pytest.raises(InvalidInput):
        exports.from_json(Exported("x", fields, {}).to_json())
