"""Packs of a store."""

from __future__ import annotations

import builtins
from typing import final

from typing_extensions import override

from holdfast.api import packs
from holdfast.errors import PackNotFound
from holdfast.model import calls, checks
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.packs import PackUpload, StoredPack
from holdfast.model.packs import digest as check_digest
from holdfast.store.store import Store


@final
class Packs(packs.Packs):
    """Operations on packs."""

    def __init__(self, store: Store) -> None:
        self._packs = store.packs

    @override
    async def put(
        self, upload: PackUpload, *, tenant: str = DEFAULT_TENANT
    ) -> tuple[StoredPack, bool]:
        checks.instance("upload", upload, PackUpload)
        checks.name("tenant", tenant)
        return await self._packs.put(upload, tenant)

    @override
    async def delete(self, digest: str, *, tenant: str = DEFAULT_TENANT) -> None:
        checks.name("tenant", tenant)
        if not await self._packs.remove(check_digest("digest", digest), tenant):
            message = f"tenant {tenant} has uploaded no pack {digest}"
            raise PackNotFound(message, digest=digest)

    @override
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[builtins.list[StoredPack], str | None]:
        calls.check_page(limit, tenant)
        return await self._packs.page(tenant, limit, cursor)

    @override
    async def archive(self, archive: str) -> bytes:
        return await self._packs.archive(check_digest("archive", archive))
