"""The archive of the store, kept open between calls for what it remembers of its segments."""

from __future__ import annotations

from holdfast.archive import Archive
from holdfast.engine import Engine
from holdfast.fencing import urls


class Archives:
    """Where ended executions went; the place is a setting of the store, and may change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._url: str | None = None
        self._archive: Archive | None = None

    async def find(self) -> Archive | None:
        """Return the archive, None if the store has none."""
        url = await self._engine.store.archives.url()
        if url != self._url:
            self._archive = None if url is None else Archive(urls.parse(url))
            self._url = url
        return self._archive
