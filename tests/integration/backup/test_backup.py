"""Backups: all of a store as of one moment while it works, and a new store that goes on."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import errno
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.backup import latest, manifest, restore, take, taking
from holdfast.engine import Engine
from holdfast.errors import (
    BackendFailed,
    InvalidRecord,
    PayloadUnreadable,
    StoreIncompatible,
    StoreUnavailable,
    VersionConflict,
)
from holdfast.fencing.folder import FolderObjects
from holdfast.fencing.memory import MemoryObjects
from holdfast.fencing.objects import ObjectStore, Stored
from holdfast.model.codec import AesGcm
from holdfast.model.writer_leases import Version
from holdfast.operate.verify import verify
from holdfast.store.store import Store, StoreSettings, connected, open_store
from holdfast.store.valkey import copying, failures
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.node import Node
from holdfast.store.valkey.wire import Command
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support import full_store
from tests.support.lifecycle import Dump, claim_in, create_one
from tests.support.objects import Fault, FaultyObjects

KEYS = AesGcm({"k1": b"1" * 32})


async def back(store: Store, objects: ObjectStore, name: str, **options: Any) -> None:
    """Restore over the same store."""
    await restore(store.client, store.url, objects, name, force=True, **options)


async def test_a_restored_store_has_every_key_and_goes_on(
    engine: Engine, clock: Clock, dump: Dump
) -> None:
    """On one server and on a cluster, sealed, after everything was lost or changed."""
    store, objects = engine.store, MemoryObjects()
    await full_store.fill(engine, clock)
    before = dump()
    made = await take(store, objects, name="nightly", codec=KEYS)
    assert (made.name, made.kid, made.servers) == (
        "nightly",
        "k1",
        3 if store.client.cluster else 1,
    )
    assert made.counts["executions"] == sum("}:x:" in key for key in before)
    assert made.keys >= len(before)
    await create_one(store, id="later")
    with pytest.raises(StoreIncompatible, match="has keys"):
        await restore(store.client, store.url, objects, "nightly", codec=KEYS)
    await back(store, objects, await latest(objects), codec=KEYS)
    assert dump() == before
    assert (await verify(store)).drifts == []
    ready = await create_one(store)
    found = await claim_in(store, store.tag_of(ready), limit=50)
    assert ready in {claim.id for claim in found}


async def test_what_was_acknowledged_before_is_in_it(tmp_path: Path) -> None:
    """Under load, to a folder; restored into a new store, which is sound and continues."""
    ids: list[str] = []
    stop = asyncio.Event()

    async def submit(store: Store) -> None:
        while not stop.is_set():
            made = await create_one(store)
            ids.append(made)
            for claim in await claim_in(store, store.tag_of(made), limit=2):
                await store.executions.complete(claim.id, claim.lease, b"done")

    async with open_store(f"embedded://{tmp_path}/one?fsync=no&partitions=4") as store:
        load = [asyncio.create_task(submit(store)) for _ in range(4)]
        await wait_for(lambda: _at_least(ids, 100))
        acknowledged = list(ids)
        made = await take(store, _folder(tmp_path))
        stop.set()
        await asyncio.gather(*load)
        assert len(acknowledged) <= made.counts["executions"] <= len(ids)
    url = f"embedded://{tmp_path}/two?fsync=no"
    async with connected(url, StoreSettings()) as (client, target):
        await restore(client, target, _folder(tmp_path), made.name)
    async with open_store(url) as store:
        assert store.partitions == 4
        assert (await verify(store)).drifts == []
        for one in acknowledged:
            assert await store.queries.owner(one) == "default"
        await create_one(store)


async def _at_least(ids: list[str], count: int) -> bool:
    return len(ids) >= count


def _folder(path: Path) -> ObjectStore:
    return FolderObjects(path / "backups")


class Failing(MemoryObjects):
    """An object storage that fails with its manifest."""

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create an object that is no manifest."""
        if key.endswith("manifest.json"):
            raise BackendFailed("no", maybe_done=False)
        return await super().put_if_absent(key, body)


async def test_a_backup_that_fails_leaves_nothing(single_store: Store) -> None:
    """Nor can a name be used twice."""
    await create_one(single_store)
    objects = Failing()
    with pytest.raises(BackendFailed):
        await take(single_store, objects)
    assert [entry async for entry in objects.list("")] == []
    with pytest.raises(InvalidRecord, match="has no backup"):
        await latest(objects)
    kept = MemoryObjects()
    await take(single_store, kept, name="a")
    with pytest.raises(VersionConflict):
        await take(single_store, kept, name="a")
    assert await latest(kept) == "a"
    await back(single_store, kept, "a")


class Slow(MemoryObjects):
    """An object storage that takes its time for some objects, even if nobody waits any more.

    So it is with a write in a thread, or on its way to a service.
    """

    def __init__(self, what: str = "manifest.json") -> None:
        super().__init__()
        self._what = what
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        self.written = asyncio.Event()

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create an object."""
        if self._what not in key:
            return await super().put_if_absent(key, body)
        self.reached.set()
        return await asyncio.shield(self._put_later(key, body))

    async def _put_later(self, key: str, body: bytes) -> Version:
        await self.go_on.wait()
        version = await super().put_if_absent(key, body)
        self.written.set()
        return version


@pytest.mark.parametrize("what", ["part-", "manifest.json"])
async def test_an_interrupted_backup_is_whole_or_leaves_nothing(
    single_store: Store, what: str
) -> None:
    """As after Ctrl-C: a manifest has its parts, also if it is written only then."""
    made = await create_one(single_store)
    objects = Slow(what)
    taking = asyncio.create_task(take(single_store, objects))
    await objects.reached.wait()
    taking.cancel()
    await asyncio.wait([taking], timeout=0.2)
    objects.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await taking
    await objects.written.wait()
    if what == "part-":
        assert [entry async for entry in objects.list("")] == []
        return
    await back(single_store, objects, await latest(objects))
    assert await single_store.queries.owner(made) == "default"


async def test_a_backup_that_is_interrupted_twice_is_whole_or_has_no_manifest(
    single_store: Store,
) -> None:
    """Who does not wait leaves parts behind."""
    made = await create_one(single_store)
    objects = Slow()
    taking = asyncio.create_task(take(single_store, objects))
    await objects.reached.wait()
    for _ in range(2):
        taking.cancel()
        await asyncio.wait([taking], timeout=0.2)
    with pytest.raises(asyncio.CancelledError):
        await taking
    objects.go_on.set()
    await objects.written.wait()
    await back(single_store, objects, await latest(objects))
    assert await single_store.queries.owner(made) == "default"


def damage(body: bytes) -> bytes:
    return body[:-1] + bytes([body[-1] ^ 1])


def forge(body: bytes) -> bytes:
    """Return a part that is not what its manifest was made for, or a manifest of the future."""
    made = msgspec.json.decode(body)
    return msgspec.json.encode({**made, "format": 99})


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("part", damage, "of backup a is damaged"),
        ("part", None, "backup a lacks part"),
        ("manifest.json", forge, "format 99"),
        ("manifest.json", lambda _: b"{", "damaged"),
        ("manifest.json", None, "no backup a"),
    ],
)
async def test_a_damaged_backup_is_refused_before_anything_is_removed(
    single_store: Store, file: str, change: Callable[[bytes], bytes] | None, message: str
) -> None:
    made = await create_one(single_store)
    objects = MemoryObjects()
    backup = await take(single_store, objects, name="a")
    place = manifest.place("a", backup.parts[0].name if file == "part" else file)
    stored = await objects.get(place)
    assert stored is not None
    await objects.delete(place)
    if change is not None:
        await objects.put_if_absent(place, change(stored.body))
    with pytest.raises(InvalidRecord, match=message):
        await back(single_store, objects, "a")
    assert await single_store.queries.owner(made) == "default"


async def test_a_sealed_backup_needs_its_key(single_store: Store) -> None:
    """And holds nothing that can be read without it."""
    objects = MemoryObjects()
    await create_one(single_store, id="readable", input=b"in-clear" * 20)
    made = await take(single_store, objects, name="a", codec=KEYS)
    stored = await objects.get(manifest.place("a", made.parts[0].name))
    assert stored is not None
    assert hashlib.sha256(stored.body).hexdigest() == made.parts[0].sha256
    assert b"readable" not in stored.body
    for codec in (None, AesGcm({"k2": b"2" * 32})):
        with pytest.raises(PayloadUnreadable, match="k1"):
            await back(single_store, objects, "a", codec=codec)


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"parts": []}, PayloadUnreadable),
        ({"taken_at": "2000-01-01T00:00:00+00:00"}, PayloadUnreadable),
        ({"seal": "AAAA"}, PayloadUnreadable),
        ({"seal": "?"}, InvalidRecord),
        ({"seal": None}, InvalidRecord),
        ({"kid": None}, InvalidRecord),
        ({"kid": None, "seal": None, "parts": []}, InvalidRecord),
    ],
)
async def test_an_altered_manifest_of_a_sealed_backup_is_refused(
    single_store: Store, changes: dict[str, Any], refusal: type[Exception]
) -> None:
    """A person who can write to the bucket, but has no key, can only remove the backup."""
    objects = MemoryObjects()
    kept = await create_one(single_store)
    await take(single_store, objects, name="a", codec=KEYS)
    await _alter(objects, "a", changes)
    with pytest.raises(refusal):
        await back(single_store, objects, "a", codec=KEYS)
    assert await single_store.queries.owner(kept) == "default"


async def test_the_manifest_of_another_backup_is_refused(single_store: Store) -> None:
    """An older one under the name of the last."""
    objects = MemoryObjects()
    for name in "ab":
        await take(single_store, objects, name=name, codec=KEYS)
    older = await objects.get(manifest.place("a"))
    assert older is not None
    await objects.delete(manifest.place("b"))
    await objects.put_if_absent(manifest.place("b"), older.body)
    with pytest.raises(PayloadUnreadable):
        await back(single_store, objects, "b", codec=KEYS)


async def test_a_backup_without_a_seal_is_restored_if_that_is_accepted(
    single_store: Store,
) -> None:
    """One that is not sealed, and one of a version that sealed parts only; else without keys."""
    objects = MemoryObjects()
    kept = await create_one(single_store)
    await take(single_store, objects, name="plain")
    await take(single_store, objects, name="before", codec=KEYS)
    await _alter(objects, "before", {"seal": None})
    for name in ("plain", "before"):
        with pytest.raises(InvalidRecord, match="--unsealed"):
            await back(single_store, objects, name, codec=KEYS)
        await back(single_store, objects, name, codec=KEYS, unsealed=True)
        assert await single_store.queries.owner(kept) == "default"
    await back(single_store, objects, "plain")


async def test_a_manifest_with_fields_of_a_newer_version_is_read(single_store: Store) -> None:
    """The seal is over all that the object has."""
    made = await take(single_store, MemoryObjects(), name="a", codec=KEYS)
    newer = {**msgspec.to_builtins(made), "more": 1}
    seal = KEYS.seal(b"", manifest._about("a", dict(newer)))[1]
    newer["seal"] = base64.b64encode(seal).decode()
    objects = MemoryObjects()
    await objects.put_if_absent(manifest.place("a"), msgspec.json.encode(newer))
    assert (await manifest.read(objects, "a", KEYS)).parts == made.parts


async def _alter(objects: ObjectStore, name: str, changes: dict[str, Any]) -> None:
    """Change fields of a manifest, as a person without the key can."""
    stored = await objects.get(manifest.place(name))
    assert stored is not None
    body = msgspec.json.encode({**msgspec.json.decode(stored.body), **changes})
    await objects.delete(manifest.place(name))
    await objects.put_if_absent(manifest.place(name), body)


async def test_a_store_that_is_half_restored_cannot_be_opened(single_store: Store) -> None:
    """Until the restore is repeated."""
    objects = MemoryObjects()
    made = await take(single_store, objects, name="a")
    stored = await objects.get(manifest.place("a"))
    assert stored is not None
    whole = msgspec.json.decode(stored.body, type=manifest.Manifest)
    await objects.delete(manifest.place("a"))
    await manifest.write(objects, msgspec.structs.replace(whole, parts=[]))
    with pytest.raises(StoreIncompatible, match="lacks the facts"):
        await back(single_store, objects, "a")
    with pytest.raises(StoreIncompatible, match="being restored"):
        await single_store.boot()
    await objects.delete(manifest.place("a"))
    await manifest.write(objects, made)
    await back(single_store, objects, "a")
    await single_store.boot()


class Dying:
    """A client whose server is lost while the keys of a store are removed."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def primaries(self) -> list[Node]:
        """Return the servers."""
        return self._client.primaries()

    async def on_primaries(self, command: Command) -> list[Any]:
        """Ask all servers."""
        return await self._client.on_primaries(command)

    async def call(self, command: Command) -> Any:
        """Lose the connection when a part of the keys is gone."""
        answer = await self._client.call(command)
        if command[0] == "UNLINK":
            raise failures.unanswered("the connection was lost")
        return answer


async def test_a_store_that_is_half_removed_cannot_be_opened(single_store: Store) -> None:
    """As after a restore with `force` whose server or process died early."""
    objects = MemoryObjects()
    made = await create_one(single_store)
    await take(single_store, objects, name="a")
    dying: Any = Dying(single_store.client)
    with pytest.raises(StoreUnavailable):
        await restore(dying, single_store.url, objects, "a", force=True)
    with pytest.raises(StoreIncompatible, match="being restored"):
        await single_store.boot()
    await back(single_store, objects, "a")
    await single_store.boot()
    assert await single_store.queries.owner(made) == "default"


class Lossy(MemoryObjects):
    """An object storage that writes the manifest, but whose answer is lost."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.goes_away = False

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create an object."""
        version = await super().put_if_absent(key, body)
        if key.endswith("manifest.json"):
            self.is_away = self.goes_away
            raise BackendFailed("the answer was lost", maybe_done=True)
        return version

    async def get(self, key: str) -> Stored | None:
        """Return an object, unless the storage is away."""
        if self.is_away:
            raise BackendFailed("away", maybe_done=False)
        return await super().get(key)


async def test_a_manifest_whose_answer_was_lost_has_its_parts(single_store: Store) -> None:
    """The backup is whole, whether or not the storage can say so."""
    made = await create_one(single_store)
    objects = Lossy()
    assert (await take(single_store, objects, name="a")).name == "a"
    await back(single_store, objects, "a")
    objects.goes_away = True
    with pytest.raises(BackendFailed):
        await take(single_store, objects, name="b")
    objects.is_away = False
    await back(single_store, objects, await latest(objects))
    assert await single_store.queries.owner(made) == "default"


@pytest.mark.parametrize("is_interrupted", [False, True])
async def test_a_manifest_that_lands_late_has_its_parts(
    single_store: Store, *, is_interrupted: bool
) -> None:
    """A write that timed out may still take effect, long after the backup was given up."""
    made = await create_one(single_store)

    def interrupt(verb: str, key: str) -> None:
        if is_interrupted and verb == "put" and key.endswith("manifest.json"):
            backup.cancel()

    objects = FaultyObjects(faults=[Fault("put", "late", after=1)], before=interrupt)
    backup = asyncio.create_task(take(single_store, objects, name="a"))
    if is_interrupted:
        with pytest.raises(asyncio.CancelledError):
            await backup
    else:
        with pytest.raises(BackendFailed, match="backup a may be whole") as failed:
            await backup
        assert failed.value.maybe_done
    with pytest.raises(InvalidRecord, match="has no backup"):
        await latest(objects)
    await objects.land()
    await back(single_store, objects, await latest(objects))
    assert await single_store.queries.owner(made) == "default"


class Repeating(MemoryObjects):
    """An object storage behind a proxy that sends a manifest again when the answer is lost."""

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create an object, and a manifest twice."""
        if key.endswith("manifest.json"):
            await super().put_if_absent(key, body)
        return await super().put_if_absent(key, body)


async def test_a_manifest_that_was_sent_twice_is_no_conflict(single_store: Store) -> None:
    """It is the same one."""
    objects = Repeating()
    await take(single_store, objects, name="a")
    await back(single_store, objects, "a")


class Overtaken(MemoryObjects):
    """An object storage where another backup takes the name at the last moment."""

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create an object, unless it is a manifest."""
        if key.endswith("manifest.json"):
            await super().put_if_absent(key, b"of another")
        return await super().put_if_absent(key, body)


async def test_a_backup_whose_name_is_taken_leaves_only_the_other(single_store: Store) -> None:
    """Its own parts are removed, since it can have no manifest."""
    objects = Overtaken()
    with pytest.raises(VersionConflict, match="choose another name"):
        await take(single_store, objects, name="a")
    assert [entry.key async for entry in objects.list("")] == [manifest.place("a")]


class Expiring:
    """A copy whose keys expire right after they were read."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def call(self, command: Command) -> Any:
        """Remove a key when its expiry is asked for."""
        if command[0] == "PEXPIRETIME" and b":claim:" in command[1]:
            await self._node.call(("DEL", command[1]))
        return await self._node.call(command)


async def test_what_expires_while_it_is_read_is_not_kept_for_ever(
    single_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would come back without its expiry."""

    @contextlib.asynccontextmanager
    async def frozen(*_: object) -> AsyncIterator[list[Any]]:
        yield [Expiring(single_store.client.primaries()[0])]

    monkeypatch.setattr(taking, "frozen", frozen)
    objects = MemoryObjects()
    key = f"{single_store.global_tag}:claim:soon"
    await single_store.client.call(("SET", key, "1", "PX", "60000"))
    await take(single_store, objects, name="a")
    await back(single_store, objects, "a")
    assert await single_store.client.call(("EXISTS", key)) == 0


async def test_the_last_backup_is_the_one_that_was_taken_last(single_store: Store) -> None:
    """Whatever their names are."""
    objects = MemoryObjects()
    for name in ("monday", "tuesday", None, "friday"):
        await take(single_store, objects, name=name)
    assert await latest(objects) == "friday"


async def test_a_backup_in_a_renamed_folder_has_the_name_of_the_folder(
    single_store: Store, tmp_path: Path
) -> None:
    """The manifest still has the old one."""
    objects = _folder(tmp_path)
    made = await create_one(single_store)
    await take(single_store, objects, name="old")
    folder = tmp_path / "backups" / "objects" / "backups"
    (folder / "old").rename(folder / "new")
    assert await latest(objects) == "new"
    await back(single_store, objects, "new")
    assert await single_store.queries.owner(made) == "default"


async def test_a_manifest_that_cannot_be_read_does_not_hide_other_backups(
    single_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """It is passed over with a warning; alone, it is no backup."""
    objects = MemoryObjects()
    await objects.put_if_absent(manifest.place("broken"), b"{")
    with pytest.raises(InvalidRecord, match="has no backup"):
        await latest(objects)
    await take(single_store, objects, name="good")
    stored = await objects.get(manifest.place("good"))
    assert stored is not None
    for name, fields in (("future", {"format": 99}), ("timeless", {"taken_at": "soon"})):
        body = msgspec.json.encode({**msgspec.json.decode(stored.body), **fields})
        await objects.put_if_absent(manifest.place(name), body)
    caplog.clear()
    assert await latest(objects) == "good"
    for name in ("broken", "future", "timeless"):
        assert f"backup {name} is passed over" in caplog.text


async def test_an_unreadable_folder_hides_no_backup(
    single_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one may be in it: an older one would be restored unnoticed."""
    objects = _folder(tmp_path)
    for name in ("older", "last"):
        await take(single_store, objects, name=name)
    scan = os.scandir

    def denied(path: str | Path) -> object:
        if Path(path).name == "last":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(BackendFailed, match="Permission denied"):
        await latest(objects)


async def test_a_copy_that_does_not_start_is_an_error(
    single_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine without memory for it."""
    monkeypatch.setattr(copying, "_START_S", 0.3)
    monkeypatch.setattr(copying, "server_binary", lambda: Path("/bin/false"))
    objects = MemoryObjects()
    with pytest.raises(StoreUnavailable, match="server for the copy"):
        await take(single_store, objects)
    assert [entry async for entry in objects.list("")] == []
