"""API keys: create, look up, list, revoke."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from typing_extensions import override

from holdfast import api
from holdfast.model import api_keys, bounds, checks
from holdfast.model.api_keys import ApiKey, Role
from holdfast.store.api_keys import Found
from holdfast.store.store import Store


class ApiKeys(api.ApiKeys):
    """The API keys of a store."""

    def __init__(self, store: Store) -> None:
        self._api_keys = store.api_keys

    @override
    async def create(
        self,
        *,
        roles: Iterable[str],
        tenant: str | None = None,
        name: str = "",
        ttl_ms: int | None = None,
        secret: str | None = None,
    ) -> tuple[ApiKey, str]:
        chosen = {Role(checks.one_of("roles", role, list(Role))) for role in roles}
        if not chosen:
            checks.refuse("roles", "must have at least one role", ())
        if tenant is not None:
            checks.name("tenant", tenant)
        if ttl_ms is not None:
            checks.integer("ttl_ms", ttl_ms, 1, bounds.DURATION_MS)
        secret = api_keys.new_secret() if secret is None else api_keys.checked_secret(secret)
        key = await self._api_keys.create(
            key_id=api_keys.id_of(secret),
            digest=api_keys.digest_of(secret),
            name=checks.text("name", name, bounds.API_KEY_NAME_CHARS),
            tenant=tenant,
            roles=sorted(chosen),
            ttl_ms=ttl_ms,
        )
        return key, secret

    async def find(self, secret: str) -> Found:
        """Look up the key with this secret; the caller decides whether it may be used."""
        found = await self._api_keys.find(api_keys.id_of(secret))
        if found.key is not None and not found.key.matches(secret):
            return Found(now=found.now, count=found.count, key=None)
        return found

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

    async def touch(self, key_ids: Sequence[str]) -> None:
        """Record that keys were used."""
        if key_ids:
            await self._api_keys.touch(key_ids)
