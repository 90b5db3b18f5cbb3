"""Archiving as a service: while the store has an archive, archive or stand by."""

from __future__ import annotations

import asyncio

from holdfast.archive.archiver import Archiver, ArchiverSettings
from holdfast.concurrency import stop
from holdfast.fencing import urls
from holdfast.store.store import Store

#: How soon a change of the setting is noticed.
LOOK_S = 30.0


class ArchiveService:
    """Archives while an archive is set. Other processes may do the same."""

    name = "archiver"

    def __init__(
        self, store: Store, settings: ArchiverSettings | None = None, *, look_s: float = LOOK_S
    ) -> None:
        self._store = store
        self._settings = settings
        self._look_s = look_s

    async def run(self) -> None:
        """Archive or stand by until cancelled; raises the error that stopped the archiver."""
        while True:
            url = await self._url()
            if url is None:
                await asyncio.sleep(self._look_s)
            else:
                await self._archive(url)

    async def _archive(self, url: str) -> None:
        """Archive until the setting names another archive."""
        archiver = Archiver(self._store, urls.parse(url), self._settings)
        running = asyncio.ensure_future(archiver.run())
        try:
            while await self._url() == url:
                done, _ = await asyncio.wait([running], timeout=self._look_s)
                if done:
                    running.result()
                    return
        finally:
            # This releases the writer lease, so that the next archiver does not have to wait.
            await stop(running)

    async def _url(self) -> str | None:
        return await self._store.archives.url()
