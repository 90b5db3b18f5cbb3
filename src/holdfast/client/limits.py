"""What budgets and quotas over HTTP have in common."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from holdfast.client.http import EVERY_TENANT, Http
from holdfast.model import calls
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT

T = TypeVar("T")


class RemoteLimits:
    """What budgets and quotas have in common."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._tenant = http.tenant

    async def _create(
        self, where: str, limit_id: str | None, kind: type[T], body: dict[str, Any]
    ) -> tuple[T, bool]:
        """Create one, under an id of ours unless it has one, so that it is safe to repeat."""
        body["id"] = new_id() if limit_id is None else limit_id
        response = await self._http.send("POST", where, body=body)
        is_new = limit_id is None or response.created
        return msgspec.json.decode(response.content, type=kind), is_new

    async def _page(
        self, where: str, kind: type[T], tenant: str | None, limit: int, cursor: str | None
    ) -> tuple[list[T], str | None]:
        calls.check_page(limit, tenant)
        whose = tenant or self._tenant or EVERY_TENANT
        reply = await self._http.get(where, tenant=whose, limit=limit, cursor=cursor)
        return msgspec.convert(reply["items"], list[kind]), reply["next_cursor"]  # type: ignore[valid-type]

    def _whose(self, tenant: str) -> str | None:
        """Return the tenant to name; that of the key needs no name."""
        return self._tenant if tenant == DEFAULT_TENANT else tenant

    async def _post(self, where: str, tenant: str, body: Any = None) -> Any:
        query = {"tenant": self._whose(tenant)}
        return (await self._http.send("POST", where, body=body, query=query)).decode()
