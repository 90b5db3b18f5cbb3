"""Files of sessions, in the store and in object storage: whole, sealed, gone with the session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from unittest import mock

import pytest

from holdfast.archive import forget_archive, set_archive
from holdfast.archive.archiver import Archiver
from holdfast.archive.session_files import PART_BYTES
from holdfast.engine import Engine
from holdfast.errors import (
    BackendFailed,
    FileNotFound,
    FileRefused,
    FilesFull,
    InvalidInput,
    InvalidRecord,
    OutcomeUnknown,
    PayloadUnreadable,
    SessionNotFound,
    TooLarge,
)
from holdfast.fencing import FolderObjects
from holdfast.fencing.in_store import StoreObjects
from holdfast.fencing.objects import Entry
from holdfast.model.codec import AesGcm
from holdfast.model.files import FileLimits
from holdfast.model.ids import time_of
from holdfast.store.store import Store, StoreSettings
from tests.support import conversing

DAY_MS = 86_400_000
LIMITS = FileLimits(most_bytes=3 * PART_BYTES, most_files=3, total_bytes=5 * PART_BYTES)
TEXT = b"zebra " * 300_000
SESSION = conversing.key().id


async def sent(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def began(engine: Engine) -> None:
    """Begin the session."""
    await conversing.publish(engine)
    await engine.sessions.deliver(conversing.NAME, conversing.message("hello"))


async def read(engine: Engine, file_id: str) -> bytes:
    return b"".join([part async for part in engine.files.read(SESSION, file_id)])


@pytest.fixture(params=["store", "folder"])
async def place(
    request: pytest.FixtureRequest, store: Store, tmp_path: Path
) -> StoreObjects | FolderObjects:
    """Where files are: in the store, or where its archive is."""
    if request.param == "store":
        return StoreObjects(store)
    await set_archive(store, f"file://{tmp_path}")
    return FolderObjects(tmp_path)


async def objects_in(place: StoreObjects | FolderObjects) -> list[str]:
    return [entry.key async for entry in place.list("files/")]


async def test_a_file_comes_before_the_session_and_goes_with_it(
    engine: Engine, place: StoreObjects
) -> None:
    """It is stored in parts, read as a whole, and erased with the session, for good."""
    file = await engine.files.add(SESSION, "../notes.txt", sent(TEXT[:7], TEXT[7:]), LIMITS)
    assert (file.name, file.type, file.size) == ("notes.txt", "text/plain", len(TEXT))
    assert len(await objects_in(place)) == 3
    with pytest.raises(SessionNotFound):
        await engine.files.get(SESSION, file.id)
    await began(engine)
    assert await engine.files.get(SESSION, file.id) == file
    assert await read(engine, file.id) == TEXT
    with pytest.raises(FileNotFound):
        await engine.files.get(SESSION, "../../leases")
    await engine.sessions.erase(SESSION)
    assert await objects_in(place) == []
    await engine.sessions.erase(SESSION)


async def test_an_upload_that_fails_leaves_nothing(engine: Engine, place: StoreObjects) -> None:
    """Too large, of another kind, or cut off by the caller."""
    with pytest.raises(TooLarge):
        await engine.files.add(SESSION, "a.txt", sent(TEXT, TEXT), LIMITS)
    with pytest.raises(FileRefused):
        await engine.files.add(SESSION, "a.png", sent(TEXT), LIMITS)

    async def cut() -> AsyncIterator[bytes]:
        yield TEXT
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await engine.files.add(SESSION, "a.txt", cut(), LIMITS)
    assert await objects_in(place) == []


async def test_a_session_has_room_for_some(engine: Engine) -> None:
    """In number, and in bytes."""
    for _ in range(2):
        await engine.files.add(SESSION, "a.txt", sent(TEXT), LIMITS)
    with pytest.raises(FilesFull):
        await engine.files.add(SESSION, "a.txt", sent(TEXT), LIMITS)
    await engine.files.add(SESSION, "a.txt", sent(b"short"), LIMITS)
    with pytest.raises(FilesFull):
        await engine.files.add(SESSION, "a.txt", sent(b"short"), LIMITS)


async def test_what_nobody_needs_is_swept(engine: Engine, place: StoreObjects) -> None:
    """After a day, the files of sessions that are gone or never began."""
    file = await engine.files.add(SESSION, "a.txt", sent(b"text"), LIMITS)
    assert await engine.files.sweep(time_of(file.id) + DAY_MS - 1) == 0
    await began(engine)
    assert await engine.files.sweep(time_of(file.id) + 2 * DAY_MS) == 0
    await engine.store.sessions.erase(SESSION)
    assert await engine.files.sweep(time_of(file.id) + 2 * DAY_MS) == 1
    assert await objects_in(place) == []


async def test_files_from_before_the_archive_stay_readable(engine: Engine, tmp_path: Path) -> None:
    """New ones go to the archive; both are read, and both are erased with their tenant."""
    await began(engine)
    old = await engine.files.add(SESSION, "old.txt", sent(b"old"), LIMITS)
    await set_archive(engine.store, f"file://{tmp_path}")
    near = Engine(engine.store)
    new = await near.files.add(SESSION, "new.txt", sent(b"new"), LIMITS)
    inside, outside = StoreObjects(engine.store), FolderObjects(tmp_path)
    assert (len(await objects_in(inside)), len(await objects_in(outside))) == (2, 2)
    assert (await read(near, old.id), await read(near, new.id)) == (b"old", b"new")
    await Archiver(engine.store, outside).erase_tenant("default", by="ann")
    assert await objects_in(inside) + await objects_in(outside) == []
    await near.close()


@pytest.mark.parametrize("erase", ["session", "tenant", "sweep"])
async def test_files_in_an_archive_before_stay_readable_and_are_erased(
    engine: Engine, tmp_path: Path, erase: str
) -> None:
    """New ones go to the archive of now."""
    before, now = FolderObjects(tmp_path / "before"), FolderObjects(tmp_path / "now")
    await set_archive(engine.store, f"file://{tmp_path}/before")
    await began(engine)
    old = await engine.files.add(SESSION, "old.txt", sent(b"old"), LIMITS)
    await set_archive(engine.store, f"file://{tmp_path}/now")
    near = Engine(engine.store)
    new = await near.files.add(SESSION, "new.txt", sent(b"new"), LIMITS)
    assert (len(await objects_in(before)), len(await objects_in(now))) == (2, 2)
    for each in (engine, near):
        assert (await read(each, old.id), await read(each, new.id)) == (b"old", b"new")
    if erase == "session":
        await near.sessions.erase(SESSION)
    elif erase == "tenant":
        await Archiver(engine.store, now).erase_tenant("default", by="ann")
    else:
        await engine.store.sessions.erase(SESSION)
        await near.files.sweep(time_of(new.id) + 2 * DAY_MS)
    assert await objects_in(before) + await objects_in(now) == []
    await near.close()


_entries = FolderObjects.list


def _listed_but_before(self: FolderObjects, prefix: str) -> AsyncIterator[Entry]:
    """List objects, but not those of the folder `before`, which is away."""
    if "before" in self.name:
        raise BackendFailed("it is gone", maybe_done=False)
    return _entries(self, prefix)


async def test_a_former_archive_that_cannot_be_reached_stops_no_upload_and_no_sweep(
    engine: Engine, tmp_path: Path
) -> None:
    """Its own files are swept when it is there again."""
    await set_archive(engine.store, f"file://{tmp_path}/before")
    await engine.files.add(SESSION, "old.txt", sent(b"old"), LIMITS)
    await set_archive(engine.store, f"file://{tmp_path}/now")
    near = Engine(engine.store)
    with mock.patch.object(FolderObjects, "list", _listed_but_before):
        file = await near.files.add(SESSION, "new.txt", sent(b"new"), LIMITS)
        assert await near.files.sweep(time_of(file.id) + 2 * DAY_MS) == 0
    assert await objects_in(FolderObjects(tmp_path / "now")) == []
    assert await near.files.sweep(time_of(file.id) + 2 * DAY_MS) == 1
    assert await objects_in(FolderObjects(tmp_path / "before")) == []
    await near.close()


async def test_a_former_archive_that_is_gone_for_good_can_be_forgotten(
    engine: Engine, tmp_path: Path
) -> None:
    """Until then an erasure cannot promise that no file is left."""
    before = f"file://{tmp_path}/before"
    await set_archive(engine.store, before)
    await began(engine)
    await engine.files.add(SESSION, "old.txt", sent(b"old"), LIMITS)
    await set_archive(engine.store, f"file://{tmp_path}/now")
    near = Engine(engine.store)
    await near.files.add(SESSION, "new.txt", sent(b"new"), LIMITS)
    with mock.patch.object(FolderObjects, "list", _listed_but_before):
        with pytest.raises(OutcomeUnknown):
            await near.sessions.erase(SESSION)
        await forget_archive(engine.store, before)
        await near.sessions.erase(SESSION)
    assert await objects_in(FolderObjects(tmp_path / "now")) == []
    with pytest.raises(InvalidInput, match="there is none"):
        await forget_archive(engine.store, before)
    await near.close()


async def test_a_former_archive_without_credentials_stops_no_upload_and_no_sweep(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may have been removed with its last use; only what needs its files fails."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    await engine.store.archives.set_url("gs://before")
    await set_archive(engine.store, f"file://{tmp_path}/now")
    near = Engine(engine.store)
    await began(near)
    file = await near.files.add(SESSION, "new.txt", sent(b"new"), LIMITS)
    assert await near.files.sweep(time_of(file.id) + 2 * DAY_MS) == 0
    assert await read(near, file.id) == b"new"
    with pytest.raises(OutcomeUnknown, match=r"gs://before: .*gone\.json"):
        await near.sessions.erase(SESSION)
    await near.close()


async def test_an_erasure_of_the_tenant_that_fails_is_finished_by_its_repetition(
    engine: Engine, tmp_path: Path
) -> None:
    """The storage did not answer: the session is still there, and says where its files are."""
    now = FolderObjects(tmp_path)
    await set_archive(engine.store, f"file://{tmp_path}")
    await began(engine)
    await engine.files.add(SESSION, "a.txt", sent(b"a"), LIMITS)
    archiver = Archiver(engine.store, now)
    delete = FolderObjects.delete

    async def fail(self: FolderObjects, key: str) -> None:
        if key.startswith("files/"):
            raise BackendFailed("no answer", maybe_done=True)
        await delete(self, key)

    with mock.patch.object(FolderObjects, "delete", fail), pytest.raises(BackendFailed):
        await archiver.erase_tenant("default", by="ann")
    proof = await archiver.erase_tenant("default", by="ann")
    assert (proof.sessions, await objects_in(now)) == (1, [])


async def test_with_a_codec_name_and_content_are_sealed(
    store: Store, place: StoreObjects | FolderObjects
) -> None:
    """A part that was moved to another file, or changed, does not open."""
    settings = StoreSettings(fake_clock=True, codec=AesGcm({"k1": b"o" * 32}))
    sealing = Store(store.client, store.url, settings)
    await sealing.boot()
    engine = Engine(sealing)
    await began(engine)
    one = await engine.files.add(SESSION, "zebra.txt", sent(TEXT), LIMITS)
    two = await engine.files.add(SESSION, "two.txt", sent(TEXT), LIMITS)
    assert await read(engine, one.id) == TEXT
    for key in await objects_in(place):
        stored = await place.get(key)
        assert stored is not None
        assert b"zebra" not in stored.body
    first, second = (f"files/{SESSION}/{file.id}/00000" for file in (one, two))
    moved = await place.get(first)
    there = await place.get(second)
    assert moved is not None
    assert there is not None
    await place.put_if_version(second, moved.body, there.version)
    with pytest.raises(PayloadUnreadable):
        await read(engine, two.id)
    await engine.close()


async def test_a_damaged_file_is_not_passed_off_as_whole(
    engine: Engine, place: StoreObjects | FolderObjects
) -> None:
    """A part is missing, or has other bytes."""
    await began(engine)
    file = await engine.files.add(SESSION, "a.txt", sent(TEXT), LIMITS)
    key = f"files/{SESSION}/{file.id}/00001"
    part = await place.get(key)
    assert part is not None
    await place.put_if_version(key, part.body[::-1], part.version)
    with pytest.raises(InvalidRecord, match="damaged"):
        await read(engine, file.id)
    await place.delete(key)
    with pytest.raises(InvalidRecord, match="missing"):
        await read(engine, file.id)
