"""Objects in memory, for tests and for one process."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

from holdfast.errors import VersionConflict
from holdfast.fencing.objects import Entry, Stored
from holdfast.model.writer_leases import Version


def conflict(key: str, store: str) -> VersionConflict:
    """Return the error for a condition that does not hold."""
    return VersionConflict(f"{key} in {store} is not as expected", key=key)


class MemoryObjects:
    """Objects in memory."""

    name = "memory"

    def __init__(self) -> None:
        self._objects: dict[str, Stored] = {}
        self._versions = itertools.count(1)

    async def get(self, key: str) -> Stored | None:
        """Return the object."""
        return self._objects.get(key)

    async def get_range(self, key: str, start: int, length: int) -> bytes | None:
        """Return a part of the object."""
        stored = self._objects.get(key)
        return None if stored is None else stored.body[start : start + length]

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create the object."""
        if key in self._objects:
            raise conflict(key, self.name)
        return self._write(key, body)

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        """Replace exactly this version."""
        self._check(key, version)
        return self._write(key, body)

    async def delete(self, key: str) -> None:
        """Remove the object."""
        self._objects.pop(key, None)

    async def delete_if_version(self, key: str, version: Version) -> None:
        """Remove exactly this version."""
        self._check(key, version)
        del self._objects[key]

    async def list(self, prefix: str) -> AsyncIterator[Entry]:
        """Iterate over the objects in order."""
        for key in sorted(self._objects):
            if key.startswith(prefix):
                yield Entry(key, len(self._objects[key].body))

    def _check(self, key: str, version: Version) -> None:
        found = self._objects.get(key)
        if found is None or found.version != version:
            raise conflict(key, self.name)

    def _write(self, key: str, body: bytes) -> Version:
        version = Version(str(next(self._versions)))
        self._objects[key] = Stored(body, version)
        return version
