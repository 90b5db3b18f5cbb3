"""Bulk actions: their records, which are objects of the global partition."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from holdfast.errors import BulkNotFound
from holdfast.model.bulk import Bulk
from holdfast.store.domain import Domain, Partitioned
from holdfast.store.objects import Objects

_FOLDER = "bulk/"


class BulkActions(Domain):
    """Records of bulk actions. A write names the version that it replaces."""

    def __init__(self, store: Partitioned) -> None:
        super().__init__(store)
        self._objects = Objects(store)

    async def read(self, tenant: str, bulk_id: str) -> tuple[str, Bulk]:
        """Return the version and the record."""
        found = await self._objects.get(_name(tenant, bulk_id))
        if found is None:
            message = f"tenant {tenant} has no bulk action {bulk_id}"
            raise BulkNotFound(message, id=bulk_id)
        version, body = found
        return version, msgspec.json.decode(body, type=Bulk)

    async def write(self, bulk: Bulk, version: str = "") -> str:
        """Replace a version, or create the record; return the new one. Raises VersionConflict."""
        body = msgspec.json.encode(bulk)
        return await self._objects.put(_name(bulk.tenant, bulk.id), body, version)

    async def forget(self, bulk: Bulk) -> None:
        """Remove a record."""
        await self._objects.delete(_name(bulk.tenant, bulk.id))

    async def names(self, tenant: str | None) -> AsyncIterator[tuple[str, str]]:
        """Iterate over the tenants and ids of the records of a tenant, or of all."""
        prefix = _FOLDER if tenant is None else _name(tenant, "")
        async for name, _ in self._objects.list(prefix):
            owner, _, bulk_id = name.removeprefix(_FOLDER).partition("/")
            yield owner, bulk_id


def _name(tenant: str, bulk_id: str) -> str:
    return f"{_FOLDER}{tenant}/{bulk_id}"
