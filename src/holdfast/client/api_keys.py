"""API keys over HTTP."""

from __future__ import annotations

from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client.http import Http, path
from holdfast.errors import KeyNotFound
from holdfast.model import bounds, checks
from holdfast.model.api_keys import ApiKey, NewKey
from holdfast.model.callers import Caller


@final
class RemoteApiKeys(api.ApiKeys):
    """The API keys of a server's store. A key of one tenant lists and creates only its own."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def _create(self, new: NewKey) -> ApiKey:
        body = {
            "roles": sorted(new.roles),
            "tenant": new.tenant,
            "name": new.name,
            "ttl_ms": new.ttl_ms,
            "secret": new.secret,
            "payloads": new.payloads,
        }
        return _key(await self._http.post("/v1/keys", body))

    @override
    async def list(self, *, tenant: str | None = None) -> list[ApiKey]:
        keys = [_key(view) for view in (await self._http.get("/v1/keys"))["items"]]
        return [key for key in keys if tenant is None or key.tenant == tenant]

    @override
    async def revoke(self, key_id: str, *, tenant: str | None = None) -> None:
        checks.text("id", key_id, bounds.ID_CHARS, empty=False)
        if tenant is not None and key_id not in {key.id for key in await self.list(tenant=tenant)}:
            raise KeyNotFound(f"no API key has the id {key_id}", id=key_id)
        await self._http.delete(path("keys", key_id))

    @override
    async def me(self) -> Caller:
        return msgspec.convert(await self._http.get("/v1/me"), Caller)


def _key(view: dict[str, Any]) -> ApiKey:
    """Read a key; its digest stays with the server."""
    return msgspec.convert({**view, "digest": ""}, ApiKey)
