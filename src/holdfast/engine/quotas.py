"""Quotas: how many executions run at once, and how many start in a window."""

from __future__ import annotations

from typing_extensions import override

from holdfast import api
from holdfast.engine.courier import Courier
from holdfast.engine.rules import Rules
from holdfast.errors import QuotaNotFound
from holdfast.model import bounds, calls, checks, names
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.quotas import NewQuota, Quota, check_caps
from holdfast.store.store import Store


class Quotas(api.Quotas):
    """Operations on quotas."""

    def __init__(self, store: Store, courier: Courier) -> None:
        self._store = store
        self._courier = courier
        self.rules: Rules = Rules(store, "quota")

    @override
    async def _create(self, new: NewQuota) -> tuple[Quota, bool]:
        created = await self._store.quotas.create(new)
        return await self._store.quotas.get(new.stored_id), created

    @override
    async def get(
        self, quota_id: str, *, value: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> Quota:
        if value is not None:
            checks.text("value", value, bounds.TAG_VALUE_CHARS, empty=False)
        return await self._store.quotas.get(_stored(quota_id, tenant), value)

    @override
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Quota], str | None]:
        calls.check_page(limit, tenant)
        return await self._store.quotas.list_quotas(tenant, limit, cursor)

    @override
    async def set(
        self,
        quota_id: str,
        *,
        window_ms: int | None = None,
        max_per_window: int | None = None,
        max_concurrent: int | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Quota:
        stored = _stored(quota_id, tenant)
        check_caps(window_ms, max_per_window, max_concurrent)
        await self._store.quotas.set(stored, window_ms, max_per_window, max_concurrent)
        self._courier.poke(self._store.quota_tag(stored))
        return await self._store.quotas.get(stored)

    @override
    async def delete(self, quota_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
        stored = _stored(quota_id, tenant)
        for rule in await self.rules.list():
            if rule.id == stored:
                await self.rules.detach(stored, **{rule.subject: rule.value})
        existed = await self._store.quotas.delete(stored)
        self._courier.poke(self._store.quota_tag(stored))
        if not existed:
            raise QuotaNotFound(f"no quota has the id {quota_id}", id=quota_id)


def _stored(quota_id: str, tenant: str) -> str:
    checks.name("tenant", tenant)
    return names.stored(tenant, checks.limit("quota", quota_id))
