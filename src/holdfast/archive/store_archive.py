"""The archive of a store, kept open between calls because it caches segment indexes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from typing_extensions import override

from holdfast import api
from holdfast.archive.archive import Archive
from holdfast.errors import ExecutionNotFound, InvalidInput
from holdfast.fencing import urls
from holdfast.model.archive import ArchiveStatus, Survey
from holdfast.model.exports import Exported
from holdfast.model.listing import Filter, Page
from holdfast.store.store import Store


class StoreArchive(api.Archive):
    """The archive that the settings of the store name; it may change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._url: str | None = None
        self._former: Sequence[str] = ()
        self._archive: Archive | None = None

    async def find(self) -> Archive | None:
        """Return the archive, None if the store has none."""
        url, former = await self._store.archives.urls()
        if (url, former) != (self._url, self._former):
            self._archive = None
            if url is not None:
                places = [urls.parse(one) for one in former]
                sealing = self._store.sealing
                self._archive = Archive(urls.parse(url), sealing=sealing, former=places)
            self._url, self._former = url, former
        return self._archive

    async def open(self) -> Archive:
        """Return the archive; raises InvalidInput if the store has none."""
        archive = await self.find()
        if archive is None:
            message = "the store has no archive: `holdfast archive enable URL` sets one"
            raise InvalidInput(message, field="archive")
        return archive

    @override
    async def survey(self) -> Survey:
        archive = await self.find()
        waiting, _ = await self._store.archives.waiting()
        known = None if archive is None else await archive.status()
        return Survey(url=self._url, waiting=waiting, archive=known)

    @override
    async def status(self) -> ArchiveStatus:
        archive = await self.find()
        return ArchiveStatus() if archive is None else await archive.status()

    @override
    async def get(self, execution_id: str) -> Exported:
        return await (await self._of(execution_id)).get(execution_id)

    @override
    async def owner(self, execution_id: str) -> str:
        return await (await self._of(execution_id)).owner(execution_id)

    async def _of(self, execution_id: str) -> Archive:
        archive = await self.find()
        if archive is None:
            raise ExecutionNotFound(f"no execution has the id {execution_id}", id=execution_id)
        return archive

    @override
    async def page(
        self, wanted: Filter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        return await (await self.open()).page(wanted, limit=limit, cursor=cursor)

    @override
    async def rows(self, wanted: Filter | None = None) -> AsyncIterator[Exported]:
        async for row in (await self.open()).rows(wanted):
            yield row


async def open_archive(store: Store) -> Archive:
    """Return the archive of a store for reading; raises InvalidInput if it has none."""
    return await StoreArchive(store).open()
