"""Code that budgets and quotas over HTTP share."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from holdfast.client.http import EVERY_TENANT, Http
from holdfast.model import calls
from holdfast.model.budgets import NewBudget
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.quotas import NewQuota

T = TypeVar("T")


class RemoteLimits:
    """Code that budgets and quotas share."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._tenant = http.tenant

    async def _post_new(
        self, where: str, new: NewBudget | NewQuota, kind: type[T]
    ) -> tuple[T, bool]:
        """Create a limit; return it and whether this call created it."""
        body = {**msgspec.to_builtins(new), "tenant": self._whose(new.tenant)}
        response = await self._http.send("POST", where, body=body)
        return msgspec.json.decode(response.content, type=kind), response.created

    async def _page(
        self, where: str, kind: type[T], tenant: str | None, limit: int, cursor: str | None
    ) -> tuple[list[T], str | None]:
        calls.check_page(limit, tenant)
        whose = tenant or self._tenant or EVERY_TENANT
        reply = await self._http.get(where, tenant=whose, limit=limit, cursor=cursor)
        return msgspec.convert(reply["items"], list[kind]), reply["next_cursor"]  # type: ignore[valid-type]

    def _whose(self, tenant: str) -> str | None:
        """Return the tenant to name; the tenant of the key does not have to be named."""
        return self._tenant if tenant == DEFAULT_TENANT else tenant

    async def _post(self, where: str, tenant: str, body: Any = None) -> Any:
        query = {"tenant": self._whose(tenant)}
        return (await self._http.send("POST", where, body=body, query=query)).decode()
