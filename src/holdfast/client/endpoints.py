"""Endpoints over HTTP."""

from __future__ import annotations

from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast.api.endpoints import Endpoints
from holdfast.client.http import EVERY_TENANT, Http, path
from holdfast.model import calls, checks
from holdfast.model.endpoints import Endpoint, EndpointPage, EndpointRef, NewEndpoint
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.session_keys import DEFAULT_ENV


@final
class RemoteEndpoints(Endpoints):
    """Operations on endpoints."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def put(self, new: NewEndpoint) -> tuple[Endpoint, bool]:
        checks.instance("endpoint", new, NewEndpoint).packed_settings()
        body = msgspec.to_builtins(new)
        where = path("envs", body.pop("env"), "endpoints", body.pop("id"))
        body["tenant"] = self._http.tenant if new.tenant == DEFAULT_TENANT else new.tenant
        reply = await self._http.send("PUT", where, body=body)
        return _endpoint(msgspec.json.decode(reply.content)), reply.created

    @override
    async def get(self, ref: EndpointRef) -> Endpoint:
        reply = await self._http.get(_path(ref), tenant=ref.tenant or self._http.tenant)
        return _endpoint(reply)

    @override
    async def list(
        self,
        env: str = DEFAULT_ENV,
        *,
        tenant: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> EndpointPage:
        calls.check_page(limit, tenant)
        whose = tenant or self._http.tenant or EVERY_TENANT
        where = path("envs", checks.name("env", env), "endpoints")
        reply = await self._http.get(where, tenant=whose, limit=limit, cursor=cursor)
        items = tuple(_endpoint(item) for item in reply["items"])
        return EndpointPage(items=items, next_cursor=reply["next_cursor"])

    @override
    async def delete(self, ref: EndpointRef) -> None:
        query = {"tenant": ref.tenant or self._http.tenant}
        await self._http.send("DELETE", _path(ref), query=query)


def _path(ref: EndpointRef) -> str:
    return path("envs", ref.env, "endpoints", checks.instance("ref", ref, EndpointRef).id)


def _endpoint(item: Any) -> Endpoint:
    return msgspec.convert(item, Endpoint, strict=False)
