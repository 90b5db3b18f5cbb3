"""The operations that fencing needs from an object store.

Every write is conditional. A condition that does not hold raises VersionConflict; any other problem
raises BackendFailed, which says whether the request may have taken effect.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from holdfast.model.writer_leases import Version

#: A request that hangs must end before the lease does.
REQUEST_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Stored:
    """An object and the version of exactly these bytes, from one response."""

    body: bytes
    version: Version


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in a listing."""

    key: str
    size: int


class ObjectStore(Protocol):
    """Objects under keys such as `leases/reports/main.lease.json`."""

    @property
    def name(self) -> str:
        """The name of the store in messages, without secrets."""
        ...

    async def get(self, key: str) -> Stored | None:
        """Return the object, None if it certainly does not exist."""
        ...

    async def get_range(self, key: str, start: int, length: int) -> bytes | None:
        """Return a part of the object, None if the object certainly does not exist."""
        ...

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create the object; raises VersionConflict if it exists."""
        ...

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        """Replace exactly this version; raises VersionConflict if there is another or none."""
        ...

    async def delete(self, key: str) -> None:
        """Remove an object whose name is never used again; does nothing if it does not exist.

        Leases and manifests are never deleted.
        """
        ...

    def list(self, prefix: str) -> AsyncIterator[Entry]:
        """Iterate over the objects whose keys start with this; an error is never an empty list."""
        ...


@runtime_checkable
class DeletesByVersion(Protocol):
    """An object store that can also delete on a condition. Nothing in fencing relies on it."""

    async def delete_if_version(self, key: str, version: Version) -> None:
        """Remove exactly this version; raises VersionConflict if there is another or none."""
        ...
