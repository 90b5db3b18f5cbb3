"""Take a backup of a store, which may be in use."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, TypeVar

from holdfast.backup import manifest, parts
from holdfast.backup.manifest import Manifest, Part
from holdfast.backup.parts import Row
from holdfast.errors import BackendFailed, HoldfastError, StoreUnavailable, VersionConflict
from holdfast.fencing.objects import ObjectStore
from holdfast.model import checks
from holdfast.model.codec import Codec
from holdfast.model.ids import new_id
from holdfast.store.store import Store
from holdfast.store.valkey import boot
from holdfast.store.valkey.copying import frozen
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.node import Node

T = TypeVar("T")

#: Called with a word for what is done, and how many of its units since the last call.
Advance = Callable[[str, int], None]

_LISTED = "512"
#: How many values are asked for at once: each may be as large as a payload.
_AT_ONCE = 32
#: When a key expires that does not exist.
_GONE = -2
#: What a key of a family is counted as.
_NOUNS = {
    b"x": "executions",
    b"graph": "graphs",
    b"S": "sessions",
    b"schedule": "schedules",
    b"quota": "quotas",
    b"budget": "budgets",
    b"queue": "queues",
    b"deployment": "deployments",
}


async def take(
    store: Store,
    objects: ObjectStore,
    *,
    name: str | None = None,
    codec: Codec | None = None,
    advance: Advance | None = None,
) -> Manifest:
    """Copy all keys of a store as of one moment; with a codec, sealed.

    Everything that was acknowledged before the call is in the backup. Raises StoreUnavailable,
    BackendFailed, or VersionConflict if there is a backup of this name. A backup that fails or is
    interrupted removes its parts, unless its manifest may be there: then it may be whole.
    """
    report = advance or (lambda _what, _done: None)
    if name is not None:
        await manifest.require_free(objects, checks.name("name", name))
    async with frozen(store.client, store.url, lambda done: report("copying", done)) as copies:
        taken_at = datetime.now(UTC)
        name = checks.name("name", name or f"{taken_at:%Y%m%dT%H%M%S}.{taken_at.microsecond:06}Z")
        taking = _Taking(store, objects, name, codec, report)
        try:
            await taking.write_all(copies)
            made = await taking.manifest(copies, taken_at)
            await taking.finish(made)
        except CallFailed as failure:
            await taking.discard()
            message = f"the copy of the store does not answer: {failure.text}"
            raise StoreUnavailable(message) from failure
        except BaseException:
            await taking.discard()
            raise
    return made


class _Taking:
    """A backup that is being written."""

    def __init__(
        self, store: Store, objects: ObjectStore, name: str, codec: Codec | None, report: Advance
    ) -> None:
        self._store = store
        self._objects = objects
        self._name = name
        self._codec = codec
        self._report = report
        self._parts: list[Part] = []
        self._counts: Counter[str] = Counter()
        self._keys = 0
        #: In the names of its parts: another backup of the same name has others.
        self._own = new_id()
        #: The write that was begun last.
        self._writing: asyncio.Future[Any] | None = None
        #: Whether that is the write of its manifest.
        self._is_described = False

    def _part(self, number: int) -> str:
        return f"part-{self._own}-{number:06}"

    async def write_all(self, copies: Sequence[Node]) -> None:
        """Write the keys of all copies as parts."""
        rows: list[Row] = []
        size = 0
        for copy in copies:
            async for row in self._rows(copy):
                rows.append(row)
                size += len(row[0]) + len(row[2])
                if size >= parts.BYTES:
                    await self._write(rows)
                    rows, size = [], 0
        await self._write(rows)

    async def manifest(self, copies: Sequence[Node], taken_at: datetime) -> Manifest:
        """Describe what was written."""
        made = Manifest(
            format=manifest.FORMAT,
            name=self._name,
            taken_at=taken_at.isoformat(),
            holdfast=version("holdfast"),
            valkey=await _version(copies[0]),
            prefix=self._store.prefix,
            partitions=self._store.partitions,
            data_format=boot.FORMAT,
            servers=len(copies),
            keys=self._keys,
            counts=dict(sorted(self._counts.items())),
            kid=self._codec.kids[0] if self._codec else None,
            parts=self._parts,
        )
        return manifest.sealed(made, self._codec) if self._codec else made

    async def finish(self, made: Manifest) -> None:
        """Make the backup whole."""
        self._is_described = True
        await self._to_its_end(manifest.write(self._objects, made))

    async def discard(self) -> None:
        """Remove what was written, as far as that is possible, unless the backup may be whole."""
        if self._writing is not None:
            await asyncio.wait([self._writing])
            if self._is_described and not _was_refused(self._writing):
                return
        for number in range(len(self._parts) + 1):
            with contextlib.suppress(HoldfastError):
                await self._objects.delete(manifest.place(self._name, self._part(number)))

    async def _write(self, rows: Sequence[Row]) -> None:
        name = self._part(len(self._parts))
        writing = parts.write(self._objects, self._name, name, rows, self._codec)
        part = await self._to_its_end(writing)
        self._parts.append(part)
        self._report("writing", len(rows))

    async def _to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Write even if the backup is interrupted: nobody knows how far the write has come."""
        writing = self._writing = asyncio.ensure_future(work)
        return await asyncio.shield(writing)

    async def _rows(self, copy: Node) -> AsyncIterator[Row]:
        """Return the keys of the store with their values."""
        cursor, seen = b"0", set[bytes]()
        while True:
            command = ("SCAN", cursor, "MATCH", f"{self._store.prefix}:{{*", "COUNT", _LISTED)
            cursor, names = await copy.call(command)
            # A scan may return a key twice.
            keys = [key for key in names if key not in seen]
            seen.update(keys)
            for start in range(0, len(keys), _AT_ONCE):
                for row in await _read(copy, keys[start : start + _AT_ONCE]):
                    self._count(row[0])
                    yield row
            if cursor == b"0":
                return

    def _count(self, key: bytes) -> None:
        self._keys += 1
        family = key.partition(b"}:")[2].partition(b":")[0]
        if family in _NOUNS:
            self._counts[_NOUNS[family]] += 1


async def _read(copy: Node, keys: Sequence[bytes]) -> list[Row]:
    """Return some keys with their values."""
    values = await asyncio.gather(*(copy.call(("DUMP", key)) for key in keys))
    ends = await asyncio.gather(*(copy.call(("PEXPIRETIME", key)) for key in keys))
    rows = zip(keys, ends, values, strict=True)
    # What has expired since is gone; -2 says that it was between the two commands.
    return [
        (key, max(0, end), value) for key, end, value in rows if value is not None and end != _GONE
    ]


def _was_refused(write: asyncio.Future[Any]) -> bool:
    """Return whether a write had no effect and will have none."""
    problem = None if write.cancelled() else write.exception()
    if isinstance(problem, BackendFailed):
        return not problem.maybe_done
    return isinstance(problem, VersionConflict)


async def _version(copy: Node) -> str:
    text = (await copy.call(("INFO", "server"))).decode()
    facts: dict[str, str] = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return facts.get("valkey_version", "unknown")
