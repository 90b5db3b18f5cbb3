"""API keys: create, look up, list, revoke."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.metadata import version

from typing_extensions import override

from holdfast import api
from holdfast.engine.saved_views import place_of
from holdfast.model import bounds, checks
from holdfast.model.api_keys import ApiKey, NewKey, Role, digest_of, id_of
from holdfast.model.callers import MOST_TENANTS, Access, Caller
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.sight import Payloads
from holdfast.store.api_keys import Found
from holdfast.store.store import Store


class ApiKeys(api.ApiKeys):
    """The API keys of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._api_keys = store.api_keys

    @override
    async def _create(self, new: NewKey) -> ApiKey:
        return await self._api_keys.create(id_of(new.secret), digest_of(new.secret), new)

    async def get(self, key_id: str) -> Found:
        """Look up a key; the caller decides whether it may be used, and compares the secret."""
        return await self._api_keys.find(key_id)

    async def any(self) -> bool:
        """Whether the store has any keys."""
        return (await self._api_keys.find("")).count > 0

    @override
    async def list(self, *, tenant: str | None = None) -> list[ApiKey]:
        keys = await self._api_keys.list()
        return [key for key in keys if tenant is None or key.tenant == tenant]

    @override
    async def revoke(self, key_id: str, *, tenant: str | None = None) -> None:
        checks.text("id", key_id, bounds.ID_CHARS, empty=False)
        await self._api_keys.revoke(key_id, tenant)
        await self._store.objects.delete(place_of(key_id))

    async def tenants(self) -> tuple[str, ...]:
        """Return the tenants that have executions or API keys, by name."""
        cells, keys = await asyncio.gather(self._store.queries.count(None), self._api_keys.list())
        found = {cell.tenant for cell in cells} | {key.tenant for key in keys if key.tenant}
        return tuple(sorted({*found, DEFAULT_TENANT}))

    async def features(self) -> tuple[str, ...]:
        """Return what is set up in the store."""
        return ("archive",) if await self._store.archives.url() else ()

    @override
    async def me(self) -> Caller:
        tenants, features = await asyncio.gather(self.tenants(), self.features())
        return Caller(
            key=None,
            name=None,
            tenant=None,
            key_tenant=None,
            roles=tuple(Role),
            payloads=Payloads.ALL,
            operator=True,
            tenants=tenants[:MOST_TENANTS],
            more_tenants=len(tenants) > MOST_TENANTS,
            features=features,
            version=version("holdfast"),
            dev=False,
            access=Access.OPEN,
            session_expires_at=None,
            banner=None,
        )

    async def touch(self, key_ids: Sequence[str]) -> None:
        """Record that keys were used."""
        if key_ids:
            await self._api_keys.touch(key_ids)
