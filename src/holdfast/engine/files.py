"""Files of sessions: in the storage of the archive, or in the store if there is none."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterable, AsyncIterator
from typing import final

from typing_extensions import override

from holdfast import api
from holdfast.archive.session_files import SessionFiles
from holdfast.engine.payloads import Payloads
from holdfast.errors import BackendFailed, FileNotFound, SessionNotFound
from holdfast.fencing.in_store import StoreObjects
from holdfast.model import checks
from holdfast.model.files import File, FileLimits
from holdfast.model.ids import time_of
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{20}\Z")
#: A file may be uploaded before the message that begins its session.
_SETTLED_MS = 86_400_000


@final
class Files(api.Files):
    """Files on an open store."""

    def __init__(self, store: Store, payloads: Payloads) -> None:
        self._store = store
        self._payloads = payloads

    async def _files(self) -> SessionFiles:
        archive, others = await self._payloads.storages()
        inside = StoreObjects(self._store)
        # Files from before there was an archive stay where they are.
        places = [inside] if archive is None else [archive, inside]
        return SessionFiles(places, self._store.sealing, former=others)

    async def add(
        self, session_id: str, name: str, content: AsyncIterable[bytes], limits: FileLimits
    ) -> File:
        """Store a file while it arrives, for a session that may not have begun.

        Raises FileRefused, FilesFull, TooLarge, BackendFailed.
        """
        checks.execution_id("id", session_id)
        checks.instance("name", name, str)
        return await (await self._files()).add(session_id, name, content, limits)

    async def attached(self, session_id: str, file_id: str) -> File:
        """Return a file for the message that names it; the session may not have begun."""
        _check(session_id, file_id)
        return await (await self._files()).get(session_id, file_id)

    @override
    async def get(self, session_id: str, file_id: str) -> File:
        checks.execution_id("id", session_id)
        # The store refuses sessions of other tenants.
        await self._store.sessions.read(session_id)
        return await self.attached(session_id, file_id)

    @override
    async def read(self, session_id: str, file_id: str) -> AsyncIterator[bytes]:
        checks.execution_id("id", session_id)
        await self._store.sessions.read(session_id)
        async for part in self.content(session_id, file_id):
            yield part

    async def content(self, session_id: str, file_id: str) -> AsyncIterator[bytes]:
        """Yield the content of a file; the session may not have begun."""
        _check(session_id, file_id)
        async for part in (await self._files()).read(session_id, file_id):
            yield part

    async def erase(self, session_id: str) -> None:
        """Remove the files of a session; safe to repeat."""
        await (await self._files()).erase(session_id)

    async def sweep(self, now_ms: int) -> int:
        """Remove files whose session is gone, or never began within a day; returns how many were.

        Retention removes sessions in the store, which cannot reach object storage.
        """
        removed = 0
        files = await self._files()
        for session_id, newest in (await files.sessions()).items():
            if time_of(newest) > now_ms - _SETTLED_MS:
                continue
            try:
                await self._store.sessions.read(session_id)
            except SessionNotFound:
                try:
                    await files.erase(session_id)
                except BackendFailed as error:
                    log.warning(
                        "files of the session %s, which is gone, stay: %s", session_id, error
                    )
                else:
                    removed += 1
        return removed


def _check(session_id: str, file_id: str) -> None:
    checks.execution_id("id", session_id)
    if not isinstance(file_id, str) or not _ID.match(file_id):
        raise FileNotFound(f"the session has no file {file_id!r}", id=str(file_id))
