"""Packs: the archives that revisions run."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.errors import PackNotFound
from holdfast.model import bounds
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.packs import PackUpload, StoredPack


class Packs(ABC):
    """Operations on packs."""

    @abstractmethod
    async def put(
        self, upload: PackUpload, *, tenant: str = DEFAULT_TENANT
    ) -> tuple[StoredPack, bool]:
        """Store a pack that was read and checked; return it and whether it is new.

        The same pack again changes nothing, unless its archive has more signatures.
        """

    @abstractmethod
    async def delete(self, digest: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Delete a pack of a tenant. Its archive is removed when no other tenant has it.

        Raises:
            PackNotFound: the tenant has no such pack.
            PackInUse: a revision that is not archived was staged from it.
        """

    @abstractmethod
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[StoredPack], str | None]:
        """Return a page of packs in the order of tenant and digest, and the next cursor."""

    async def get(self, digest: str, *, tenant: str = DEFAULT_TENANT) -> StoredPack:
        """Return a pack that a tenant has uploaded. Raises PackNotFound."""
        cursor = None
        while True:
            packs, cursor = await self.list(tenant, limit=bounds.PAGE_ITEMS, cursor=cursor)
            for pack in packs:
                if pack.digest == digest:
                    return pack
            if cursor is None:
                message = f"tenant {tenant} has uploaded no pack {digest}"
                raise PackNotFound(message, digest=digest)

    @abstractmethod
    async def archive(self, archive: str) -> bytes:
        """Return an archive by its own digest, which is checked.

        Raises PackNotFound. Raises NotOverHttp where the store is not near.
        """
