"""Large inputs and results are kept beside the archive and fetched when they are needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import App
from holdfast.archive import Archive, Archiver, ArchiverSettings, set_archive, unset_archive
from holdfast.engine import Engine
from holdfast.errors import (
    BackendFailed,
    ExecutionNotFound,
    IdempotencyConflict,
    InvalidInput,
    InvalidRecord,
    StoreUnavailable,
)
from holdfast.fencing import FolderObjects
from holdfast.fencing.objects import Entry
from holdfast.model import references
from holdfast.model.calls import Completion
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.graphs import Edge
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.model.writer_leases import Version
from holdfast.store.store import Store
from holdfast.testing import TestApp
from holdfast.testing.clock import Clock
from holdfast.testing.plugin import holdfast_server, holdfast_store
from holdfast.testing.stores import TestStore
from tests.support.archives import end_retention
from tests.support.fault_injection import meanwhile

__all__ = ["holdfast_server", "holdfast_store"]

LARGE = b'"' + b"x" * 5_000 + b'"'
SMALL = b'"' + b"x" * 1_500 + b'"'
SETTINGS = ArchiverSettings(ttl_ms=5_000)


@pytest.fixture
async def offloading(store: Store, tmp_path: Path) -> Engine:
    await set_archive(store, f"file://{tmp_path}", offload_bytes=2_000)
    return Engine(store)


async def run_one(engine: Engine, result: bytes) -> Any:
    """Claim one execution and complete it as a worker does."""
    async with engine.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000)
        await engine.complete(claim.id, claim.lease, result)
        return claim


async def test_the_store_has_a_reference_and_everybody_sees_the_payload(
    offloading: Engine, tmp_path: Path
) -> None:
    """Worker, input, outcome, result: all get the bytes."""
    engine = offloading
    execution_id = (await engine.submit("k", input=LARGE, tenant="acme")).id
    stored = await engine.store.queries.input(execution_id)
    assert references.is_reference(stored)
    assert len(stored) < 250
    assert await engine.input(execution_id) == LARGE
    claim = await run_one(engine, LARGE)
    assert claim.input == LARGE
    assert await engine.result(execution_id) == LARGE
    outcome = await engine.outcome(execution_id)
    assert outcome is not None
    assert outcome.result == LARGE
    objects = FolderObjects(tmp_path)
    assert [e.size async for e in objects.list("payloads/acme/")] == [len(LARGE)]


async def test_a_graph_passes_on_and_returns_payloads_wherever_they_are(
    offloading: Engine, tmp_path: Path
) -> None:
    """Inputs of members, results that edges pass on, results of the graph: all get the bytes."""
    engine = offloading
    large = b'{"text":' + LARGE + b"}"
    graph = await engine.graphs.submit(
        {
            "a": NewExecution(kind="k", input=large, tenant="acme"),
            "b": NewExecution(kind="k", tenant="acme"),
        },
        [Edge(source="a", target="b", input="above")],
        tenant="acme",
    )
    assert references.is_reference(await engine.store.queries.input(graph.members["a"]))
    assert (await run_one(engine, LARGE)).input == large
    assert (await run_one(engine, LARGE)).input == b'{"above":' + LARGE + b"}"
    assert await engine.graphs.results(graph.id, ["a", "b"]) == {"a": LARGE, "b": LARGE}
    sizes = {entry.size async for entry in FolderObjects(tmp_path).list("payloads/acme/")}
    assert sizes == {len(large), len(LARGE)}


async def test_what_is_small_stays(offloading: Engine) -> None:
    """The threshold is that of the setting."""
    execution_id = (await offloading.submit("k", input=SMALL)).id
    assert await offloading.store.queries.input(execution_id) == SMALL
    assert (await run_one(offloading, SMALL)).input == SMALL
    assert await offloading.result(execution_id) == SMALL


async def test_nothing_is_put_away_without_the_setting(store: Store) -> None:
    """Whoever has no archive notices nothing."""
    engine = Engine(store)
    execution_id = (await engine.submit("k", input=LARGE)).id
    assert await store.queries.input(execution_id) == LARGE


async def test_nobody_submits_a_reference(offloading: Engine) -> None:
    """It would read what belongs to others."""
    forged = references.reference_to("other", LARGE).encode()
    with pytest.raises(InvalidInput):
        await offloading.submit("k", input=forged)
    with pytest.raises(InvalidInput):
        await offloading.submit_many([NewExecution(kind="k", input=forged)])
    with pytest.raises(InvalidInput):
        await offloading.submit_many([NewExecution(kind="k", input=forged + b" " * 5_000)])
    await offloading.submit("k")
    async with offloading.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000)
        with pytest.raises(InvalidInput):
            await offloading.complete(claim.id, claim.lease, forged)


async def test_an_idempotency_key_works_wherever_the_input_is(offloading: Engine) -> None:
    """Before and after the setting, the same input is a repetition and another one a conflict."""
    store = offloading.store
    first = await offloading.submit("k", input=LARGE, idempotency_key="a")
    await store.archives.set_offload(None)
    assert (await Engine(store).submit("k", input=LARGE, idempotency_key="a")).id == first.id
    for written in (b" " + LARGE, LARGE + b" " * 4_000):
        again = await offloading.submit("k", input=written, idempotency_key="a")
        assert again.id == first.id
    with pytest.raises(IdempotencyConflict):
        await Engine(store).submit("k", input=LARGE[:-2] + b'y"', idempotency_key="a")


async def test_an_input_that_cannot_be_fetched_is_tried_again_later(
    offloading: Engine, clock: Clock, tmp_path: Path
) -> None:
    """It uses up no retry, and it runs when the object is there again."""
    execution_id = (await offloading.submit("k", input=LARGE)).id
    (path,) = (tmp_path / "objects" / "payloads" / "default").iterdir()
    hidden = path.rename(tmp_path / "hidden")
    async with offloading.claimer(worker="w") as claimer:
        assert await claimer.claim(1, 30_000) == []
    assert (await offloading.describe(execution_id)).state is State.DELAYED
    with pytest.raises(InvalidRecord):
        await offloading.input(execution_id)
    hidden.rename(path)
    await clock.advance_and_tick(5_000)
    assert (await run_one(offloading, b"1")).lease.attempt == 0


async def test_an_input_that_cannot_be_fetched_costs_other_executions_nothing(
    offloading: Engine, tmp_path: Path
) -> None:
    """Even if its own execution was cancelled in the meantime, so that it cannot be delayed."""
    root = new_id()
    ids = [f"{root}~{n}" for n in range(3)]
    for one, payload in zip(ids, (SMALL, LARGE, LARGE[:-1] + b'y"'), strict=True):
        await offloading.submit("k", id=one, input=payload)
    stored = await offloading.store.queries.input(ids[1])
    (tmp_path / "objects" / references.decode(stored).key).unlink()
    store = offloading.store

    async def cancel() -> None:
        await store.executions.cancel(ids[1], "")

    async with offloading.claimer(worker="w") as claimer:
        with meanwhile(store.client, "hf_execution_delay", cancel):
            claims = await claimer.claim(3, 30_000)
    assert sorted(claim.id for claim in claims) == [ids[0], ids[2]]


async def test_a_large_result_of_nobody_costs_other_results_nothing(offloading: Engine) -> None:
    """Each of a batch is answered on its own."""
    for _ in range(2):
        await offloading.submit("k")
    async with offloading.claimer(worker="w") as claimer:
        first, second = await claimer.claim(2, 30_000)
    answers = await offloading.executions.complete_many(
        [
            Completion(first.id, first.lease, LARGE),
            Completion("unknown", first.lease, LARGE),
            Completion(second.id, second.lease, b"1"),
        ]
    )
    assert [type(answer) for answer in answers] == [type(None), ExecutionNotFound, type(None)]
    assert await offloading.result(first.id) == LARGE
    assert await offloading.result(second.id) == b"1"


async def test_a_damaged_payload_is_refused(offloading: Engine, tmp_path: Path) -> None:
    """The digest is in the reference."""
    execution_id = (await offloading.submit("k", input=LARGE)).id
    (path,) = (tmp_path / "objects" / "payloads" / "default").iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(InvalidRecord):
        await offloading.input(execution_id)


@pytest.mark.parametrize("archives", ["one", "two", "none"])
async def test_a_payload_that_is_missing_is_named(
    offloading: Engine, tmp_path: Path, archives: str
) -> None:
    """With the archive in which it should be, if there is one."""
    execution_id = (await offloading.submit("k", input=LARGE)).id
    key = references.decode(await offloading.store.queries.input(execution_id)).key
    if archives == "two":
        await set_archive(offloading.store, f"file://{tmp_path}/new", offload_bytes=2_000)
        await set_archive(offloading.store, f"file://{tmp_path}", offload_bytes=2_000)
    elif archives == "none":
        await offloading.store.archives._configure(archive="", former_archives="")
    engine = Engine(offloading.store)
    (tmp_path / "objects" / key).unlink()
    with pytest.raises(InvalidRecord) as caught:
        await engine.input(execution_id)
    assert caught.value.context["object"] == key
    assert caught.value.message.startswith(
        f"{key} is in no archive"
        if archives == "none"
        else f"{key} in file://{tmp_path} is missing"
    )
    await engine.close()


async def test_trouble_of_the_object_store_stops_no_submission(
    offloading: Engine, tmp_path: Path
) -> None:
    """The payload stays in the store."""
    (tmp_path / "objects").rename(tmp_path / "away")
    (tmp_path / "objects").write_text("not a folder")
    execution_id = (await offloading.submit("k", input=LARGE)).id
    assert await offloading.store.queries.input(execution_id) == LARGE


async def test_the_archive_reads_them_and_an_erasure_deletes_them(
    offloading: Engine, clock: Clock, tmp_path: Path
) -> None:
    """Archived, exported, erased: they go with their tenant, not before."""
    for tenant in ("a", "b"):
        await offloading.submit("k", input=LARGE, tenant=tenant, id=tenant)
        await run_one(offloading, LARGE)
    await end_retention(offloading.store, clock)
    objects = FolderObjects(tmp_path)
    archiver = Archiver(offloading.store, objects, SETTINGS)
    await archiver.run_once()
    archive = Archive(objects)
    row = await archive.get("a=a")
    assert (row.input(), row.result()) == (LARGE, LARGE)
    assert [one.input() async for one in archive.rows()] == [LARGE, LARGE]
    await offloading.submit("k", tenant="b", id="b2")
    assert (await archiver.erase_tenant("a", by="ops")).payloads == 1
    assert (await archiver.erase_tenant("b", by="ops")).payloads is None
    assert [entry.key.split("/")[1] async for entry in objects.list("payloads/")] == ["b"]


async def test_an_execution_that_is_submitted_during_an_erasure_keeps_its_input(
    offloading: Engine, tmp_path: Path
) -> None:
    """Just before the payloads of the tenant are listed: then they stay."""

    class Objects(FolderObjects):
        async def list(self, prefix: str) -> AsyncIterator[Entry]:
            if prefix == references.prefix_of("a"):
                await offloading.submit("k", input=LARGE, tenant="a", id="late")
            async for entry in super().list(prefix):
                yield entry

    archiver = Archiver(offloading.store, Objects(tmp_path), SETTINGS)
    proof = await archiver.erase_tenant("a", by="ops")
    assert await offloading.input("a=late") == LARGE
    assert proof.payloads is None


@pytest.mark.parametrize("kind", ["execution", "graph"])
async def test_an_erasure_between_upload_and_submission_costs_no_input(
    offloading: Engine, tmp_path: Path, kind: str
) -> None:
    """It cannot know of the execution, so the submission writes the payload again."""
    engine = offloading
    archiver = Archiver(engine.store, FolderObjects(tmp_path), SETTINGS)
    new = NewExecution(kind="k", input=LARGE, tenant="a")
    proofs = []

    async def erase() -> None:
        proofs.append(await archiver.erase_tenant("a", by="ops"))

    with meanwhile(engine.store.client, f"hf_{kind}_create", erase):
        if kind == "graph":
            made = (await engine.graphs.submit({"m": new}, tenant="a")).members["m"]
        else:
            (answer,) = await engine.submit_many([new])
            assert isinstance(answer, Submitted)
            made = answer.id
    assert await engine.input(made) == LARGE
    assert [proof.payloads for proof in proofs] == [1]


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_erasure_costs_no_input_that_is_submitted_while_it_deletes(
    offloading: Engine, clock: Clock, tmp_path: Path, moment: str
) -> None:
    """Just before its payload is deleted, or just after; an equal one was there from before."""
    await offloading.submit("k", input=LARGE, tenant="a", id="early")
    await run_one(offloading, b"1")
    await end_retention(offloading.store, clock)
    await Archiver(offloading.store, FolderObjects(tmp_path), SETTINGS).run_once()

    class Objects(FolderObjects):
        async def delete(self, key: str) -> None:
            is_payload = key.startswith("payloads/")
            if is_payload and moment == "before":
                await offloading.submit("k", input=LARGE, tenant="a", id="late")
            await super().delete(key)
            if is_payload and moment == "after":
                await offloading.submit("k", input=LARGE, tenant="a", id="late")

    archiver = Archiver(offloading.store, Objects(tmp_path), SETTINGS)
    proof = await archiver.erase_tenant("a", by="ops")
    assert await offloading.input("a=late") == LARGE
    assert (proof.executions, proof.payloads) == (1, None)


@pytest.mark.parametrize("away", ["store", "storage"])
async def test_an_erasure_that_fails_as_it_deletes_costs_no_input(
    offloading: Engine,
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    away: str,
) -> None:
    """It does not know whether an execution needs what it has deleted, so it puts that back."""
    await offloading.submit("k", input=LARGE, tenant="a", id="early")
    await run_one(offloading, b"1")
    await end_retention(offloading.store, clock)
    await Archiver(offloading.store, FolderObjects(tmp_path), SETTINGS).run_once()

    async def count(tenant: str) -> int:
        raise StoreUnavailable(f"cannot count those of {tenant}")

    class Objects(FolderObjects):
        async def delete(self, key: str) -> None:
            is_payload = key.startswith("payloads/")
            if is_payload:
                await offloading.submit("k", input=LARGE, tenant="a", id="late")
            await super().delete(key)
            if is_payload and away == "storage":
                raise BackendFailed("no answer", maybe_done=True)
            if is_payload:
                monkeypatch.setattr(offloading.store.queries, "count", count)

    archiver = Archiver(offloading.store, Objects(tmp_path), SETTINGS)
    with pytest.raises(StoreUnavailable if away == "store" else BackendFailed):
        await archiver.erase_tenant("a", by="ops")
    assert await offloading.input("a=late") == LARGE


async def test_after_an_erasure_each_payload_is_written_once(
    offloading: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only while one runs is that not enough."""
    written: list[str] = []
    put = FolderObjects.put_if_absent

    async def counted(self: FolderObjects, key: str, body: bytes) -> Version:
        if key.startswith("payloads/"):
            written.append(key)
        return await put(self, key, body)

    monkeypatch.setattr(FolderObjects, "put_if_absent", counted)
    await Archiver(offloading.store, FolderObjects(tmp_path), SETTINGS).erase_tenant("a", by="ops")
    await offloading.submit("k", input=LARGE, tenant="a")
    assert len(written) == 1


async def test_a_payload_in_an_archive_that_was_set_a_moment_ago_is_read(
    offloading: Engine, tmp_path: Path
) -> None:
    """Also by a process that still knows the one before; what is there already is read, too."""
    await offloading.submit("k", input=LARGE, id="first")
    await set_archive(offloading.store, f"file://{tmp_path}/new", offload_bytes=2_000)
    other = LARGE.replace(b"x", b"y")
    await Engine(offloading.store).submit("k", input=other, id="second")
    assert await offloading.input("second") == other
    assert await offloading.input("first") == LARGE


async def test_a_process_that_still_uses_the_archive_before_loses_no_payload(
    offloading: Engine, clock: Clock, tmp_path: Path
) -> None:
    """It stores the payload there for up to half a minute; all others read it from there."""
    await offloading.submit("k", input=LARGE, id="early")
    store, new = offloading.store, tmp_path / "new"
    await set_archive(store, f"file://{new}", offload_bytes=2_000)
    late = LARGE.replace(b"x", b"y")
    await offloading.submit("k", input=late, id="late")
    other = Engine(store)
    claims = [await run_one(other, LARGE) for _ in range(2)]
    assert {claim.id: claim.input for claim in claims} == {"early": LARGE, "late": late}
    assert [entry.key async for entry in FolderObjects(new).list("payloads/")] != []
    await end_retention(store, clock)
    await Archiver(store, FolderObjects(new), SETTINGS).run_once()
    assert (await other.archive.get("late")).input() == late


async def test_payloads_are_read_after_the_archive_is_unset(offloading: Engine) -> None:
    """Also those that a process stored that had not noticed it."""
    await offloading.submit("k", input=LARGE, id="early")
    await unset_archive(offloading.store)
    await offloading.submit("k", input=LARGE.replace(b"x", b"y"), id="late")
    assert references.is_reference(await offloading.store.queries.input("late"))
    async with Engine(offloading.store).claimer(worker="w") as claimer:
        claims = await claimer.claim(2, 30_000)
    assert [len(claim.input) for claim in claims] == [len(LARGE)] * 2


async def test_tasks_do_not_notice(holdfast_store: TestStore, tmp_path: Path) -> None:
    """Arguments and results of any size."""
    await set_archive(holdfast_store, f"file://{tmp_path}", offload_bytes=2_000)
    app = App()

    @app.task
    async def double(text: str) -> str:
        return 2 * text

    async with TestApp(app, store=holdfast_store) as test:
        assert await test.run(double, "ab" * 2_000) == "ab" * 4_000
    objects = FolderObjects(tmp_path)
    assert len([entry async for entry in objects.list("payloads/default/")]) == 2
