"""Objects in the Valkey store itself, for writer leases without object storage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from holdfast.errors import BackendFailed, OutcomeUnknown, StoreUnavailable
from holdfast.fencing.objects import Entry, Stored
from holdfast.model.writer_leases import Version
from holdfast.store.store import Store

T = TypeVar("T")


class StoreObjects:
    """Objects in an open store."""

    def __init__(self, store: Store) -> None:
        self._objects = store.objects
        self.name: str = str(store.url)

    async def get(self, key: str) -> Stored | None:
        """Return the object."""
        reply = await self._ask(self._objects.get(key))
        return None if reply is None else Stored(reply[1], Version(reply[0]))

    async def get_range(self, key: str, start: int, length: int) -> bytes | None:
        """Return a part of the object."""
        stored = await self.get(key)
        return None if stored is None else stored.body[start : start + length]

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create the object."""
        return Version(await self._ask(self._objects.put(key, body, "")))

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        """Replace exactly this version."""
        return Version(await self._ask(self._objects.put(key, body, version)))

    async def delete(self, key: str) -> None:
        """Remove the object."""
        await self._ask(self._objects.delete(key))

    async def delete_if_version(self, key: str, version: Version) -> None:
        """Remove exactly this version."""
        await self._ask(self._objects.delete(key, version))

    async def list(self, prefix: str) -> AsyncIterator[Entry]:
        """Iterate over the objects in order."""
        pages = self._objects.list(prefix)
        while True:
            try:
                name, size = await self._ask(anext(pages))
            except StopAsyncIteration:
                return
            yield Entry(name, size)

    async def _ask(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except StoreUnavailable as error:
            raise BackendFailed(f"{self.name}: {error}", maybe_done=False) from error
        except OutcomeUnknown as error:
            raise BackendFailed(f"{self.name}: {error}", maybe_done=True) from error
