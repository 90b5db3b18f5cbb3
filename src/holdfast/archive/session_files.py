"""Files of sessions in object storage.

A file is `files/SESSION/ID/N`, parts of up to 1 MiB, and `files/SESSION/ID/head`, which is written
last: without a head there is no file. So a file of any size takes little memory, and an upload that
stops in the middle leaves parts that nobody reads, and that are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from holdfast.errors import (
    BackendFailed,
    FileNotFound,
    FilesFull,
    HoldfastError,
    InvalidRecord,
    StoreFull,
    TooLarge,
)
from holdfast.fencing.objects import ObjectStore
from holdfast.model.files import File, FileLimits, safe_name, type_of
from holdfast.model.ids import new_id
from holdfast.model.sealing import Sealing

log: logging.Logger = logging.getLogger(__name__)

PART_BYTES = 1 << 20
_ROOT = "files/"
_HEAD = "head"
_FIELD = "file"


@dataclass(slots=True)
class _Held:
    """What a session has."""

    ids: set[str] = field(default_factory=set)
    size: int = 0


class SessionFiles:
    """Files in object storage: new ones are written to the first place, and all places are read.

    A former place need not be reachable, except for the files that are there.
    """

    def __init__(
        self,
        places: Sequence[ObjectStore],
        sealing: Sealing,
        *,
        former: Sequence[ObjectStore] = (),
    ) -> None:
        self._places = places
        self._all = (*places, *former)
        self._sealing = sealing

    async def add(
        self, session_id: str, name: str, content: AsyncIterable[bytes], limits: FileLimits
    ) -> File:
        """Store a file while it arrives.

        Raises FileRefused, FilesFull, TooLarge, BackendFailed.
        """
        held = await self._held(session_id)
        if len(held.ids) >= limits.most_files or held.size >= limits.total_bytes:
            raise _full(limits)
        upload = _Upload(self._places[0], self._sealing, f"{_ROOT}{session_id}/{new_id()}")
        most = min(limits.most_bytes, limits.total_bytes - held.size)
        try:
            return await upload.take(safe_name(name), content, limits, most)
        except BaseException:
            with contextlib.suppress(HoldfastError):
                await _remove(self._places[0], f"{upload.folder}/")
            raise

    async def get(self, session_id: str, file_id: str) -> File:
        """Return what is known of a file; raises FileNotFound."""
        _, file = await self._find(session_id, file_id)
        return file

    async def read(self, session_id: str, file_id: str) -> AsyncIterator[bytes]:
        """Yield the content of a file; raises FileNotFound, InvalidRecord, PayloadUnreadable."""
        objects, file = await self._find(session_id, file_id)
        folder = f"{_ROOT}{session_id}/{file_id}"
        digest = hashlib.sha256()
        for number in range(-(-file.size // PART_BYTES)):
            key = f"{folder}/{number:05}"
            stored = await objects.get(key)
            if stored is None:
                raise InvalidRecord(f"{key} in {objects.name} is missing", object=key)
            part = self._sealing.open(stored.body, **{_FIELD: key})
            digest.update(part)
            yield part
        if digest.hexdigest() != file.sha256:
            raise InvalidRecord(f"{folder} in {objects.name} is damaged", object=folder)

    async def erase(self, session_id: str) -> int:
        """Remove the files of a session; returns how many objects that were. Safe to repeat."""
        return sum([await _remove(place, f"{_ROOT}{session_id}/") for place in self._all])

    async def sessions(self) -> Mapping[str, str]:
        """Return the sessions that have files, each with the id of its newest one."""
        found: dict[str, str] = {}
        for place in self._all:
            try:
                async for entry in place.list(_ROOT):
                    session_id, file_id = entry.key.split("/")[1:3]
                    found[session_id] = max(found.get(session_id, ""), file_id)
            except BackendFailed as error:
                if place in self._places:
                    raise
                log.warning("files of sessions in a former archive are not looked at: %s", error)
        return found

    async def _held(self, session_id: str) -> _Held:
        held = _Held()
        for place in self._places:
            async for entry in place.list(f"{_ROOT}{session_id}/"):
                held.ids.add(entry.key.split("/")[2])
                held.size += entry.size
        return held

    async def _find(self, session_id: str, file_id: str) -> tuple[ObjectStore, File]:
        key = f"{_ROOT}{session_id}/{file_id}/{_HEAD}"
        for place in self._all:
            stored = await place.get(key)
            if stored is not None:
                head = self._sealing.open(stored.body, **{_FIELD: key})
                try:
                    return place, msgspec.json.decode(head, type=File)
                except msgspec.MsgspecError as error:
                    message = f"{key} in {place.name} is damaged ({error})"
                    raise InvalidRecord(message, object=key) from error
        raise FileNotFound(f"the session has no file {file_id}", id=file_id)


class _Upload:
    """A file on its way into object storage."""

    def __init__(self, objects: ObjectStore, sealing: Sealing, folder: str) -> None:
        self._objects = objects
        self._sealing = sealing
        self.folder = folder

    async def take(
        self, name: str, content: AsyncIterable[bytes], limits: FileLimits, most: int
    ) -> File:
        digest, size, kind, number = hashlib.sha256(), 0, "", 0
        async for part in _parts(content):
            size += len(part)
            if size > limits.most_bytes:
                message = f"file: is larger than {limits.most_bytes} bytes"
                raise TooLarge(message, field="file", limit=limits.most_bytes)
            if size > most:
                raise _full(limits)
            kind = kind or type_of(name, part, limits)
            digest.update(part)
            await self._put(f"{number:05}", part)
            number += 1
        file = File(
            id=self.folder.rpartition("/")[2],
            name=name,
            type=kind or type_of(name, b"", limits),
            size=size,
            sha256=digest.hexdigest(),
        )
        await self._put(_HEAD, msgspec.json.encode(file))
        return file

    async def _put(self, name: str, body: bytes) -> None:
        key = f"{self.folder}/{name}"
        try:
            await self._objects.put_if_absent(key, self._sealing.seal(body, _FIELD, key))
        except StoreFull as error:
            raise BackendFailed(f"{self._objects.name}: {error}", maybe_done=False) from error


async def _parts(content: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    waiting = bytearray()
    async for chunk in content:
        waiting += chunk
        while len(waiting) >= PART_BYTES:
            yield bytes(waiting[:PART_BYTES])
            del waiting[:PART_BYTES]
    if waiting:
        yield bytes(waiting)


async def _remove(objects: ObjectStore, prefix: str) -> int:
    keys = [entry.key async for entry in objects.list(prefix)]
    # Heads first: a file that is half removed is gone.
    for key in sorted(keys, key=lambda key: not key.endswith(f"/{_HEAD}")):
        await objects.delete(key)
    return len(keys)


def _full(limits: FileLimits) -> FilesFull:
    message = (
        f"a conversation takes {limits.most_files} files and {limits.total_bytes >> 20} MiB of them"
    )
    return FilesFull(message, most_files=limits.most_files, total_bytes=limits.total_bytes)
