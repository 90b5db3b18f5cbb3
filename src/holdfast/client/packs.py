"""Packs over HTTP."""

from __future__ import annotations

import builtins
from typing import final

import msgspec
from typing_extensions import override

from holdfast.api.packs import Packs
from holdfast.client.http import EVERY_TENANT, Http, path
from holdfast.errors import NotOverHttp
from holdfast.model import calls
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.packs import PackUpload, StoredPack
from holdfast.model.packs import digest as check_digest


@final
class RemotePacks(Packs):
    """Operations on packs. The server reads and checks an uploaded archive itself."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._tenant = http.tenant

    @override
    async def put(
        self, upload: PackUpload, *, tenant: str = DEFAULT_TENANT
    ) -> tuple[StoredPack, bool]:
        whose = self._tenant if tenant == DEFAULT_TENANT else tenant
        reply = await self._http.send(
            "POST", "/v1/packs", content=upload.archive, query={"tenant": whose}
        )
        return msgspec.json.decode(reply.content, type=StoredPack), reply.created

    @override
    async def delete(self, digest: str, *, tenant: str = DEFAULT_TENANT) -> None:
        whose = self._tenant if tenant == DEFAULT_TENANT else tenant
        where = path("packs", check_digest("digest", digest))
        await self._http.send("DELETE", where, query={"tenant": whose})

    @override
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[builtins.list[StoredPack], str | None]:
        calls.check_page(limit, tenant)
        whose = tenant or self._tenant or EVERY_TENANT
        reply = await self._http.get("/v1/packs", tenant=whose, limit=limit, cursor=cursor)
        return msgspec.convert(reply["items"], builtins.list[StoredPack]), reply["next_cursor"]

    @override
    async def archive(self, archive: str) -> bytes:
        raise NotOverHttp("archives of packs are read from the store itself")
