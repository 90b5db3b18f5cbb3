"""Quotas over HTTP."""

from __future__ import annotations

from typing import TypeVar, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client.http import Http, path
from holdfast.client.limits import RemoteLimits
from holdfast.client.rules import RemoteRules
from holdfast.model import checks
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.quotas import NewQuota, Quota

EVERY_TENANT = "*"

T = TypeVar("T")


@final
class RemoteQuotas(RemoteLimits, api.Quotas):
    """Operations on quotas."""

    def __init__(self, http: Http) -> None:
        super().__init__(http)
        self.rules: RemoteRules = RemoteRules(http, "quota")

    @override
    async def _create(self, new: NewQuota) -> tuple[Quota, bool]:
        return await self._post_new("/v1/quotas", new, Quota)

    @override
    async def get(
        self, quota_id: str, *, value: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> Quota:
        whose = self._whose(tenant)
        reply = await self._http.get(_quota(quota_id), value=value, tenant=whose)
        return msgspec.convert(reply, Quota)

    @override
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Quota], str | None]:
        return await self._page("/v1/quotas", Quota, tenant, limit, cursor)

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
        body = {
            "window_ms": window_ms,
            "max_per_window": max_per_window,
            "max_concurrent": max_concurrent,
        }
        query = {"tenant": self._whose(tenant)}
        response = await self._http.send("PUT", _quota(quota_id), body=body, query=query)
        return msgspec.json.decode(response.content, type=Quota)

    @override
    async def delete(self, quota_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
        query = {"tenant": self._whose(tenant)}
        await self._http.send("DELETE", _quota(quota_id), query=query)


def _quota(quota_id: str) -> str:
    return path("quotas", checks.limit("quota", quota_id))
