"""The archive: executions that retention has removed from the store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from holdfast.model.archive import ArchiveStatus, Survey
from holdfast.model.exports import Exported
from holdfast.model.listing import Filter, Page


class Archive(ABC):
    """Archived executions, read-only. A key of one tenant reads only that tenant's."""

    @abstractmethod
    async def survey(self) -> Survey:
        """Return where the archive is, what it holds, and how many executions wait for it."""

    @abstractmethod
    async def status(self) -> ArchiveStatus:
        """Return the size and contents of the archive."""

    @abstractmethod
    async def get(self, execution_id: str) -> Exported:
        """Return an archived execution with its last end; raise ExecutionNotFound if absent."""

    @abstractmethod
    async def owner(self, execution_id: str) -> str:
        """Return the tenant of an archived execution; raise ExecutionNotFound if there is none."""

    @abstractmethod
    async def page(
        self, wanted: Filter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        """Return a page of archived executions, newest first, each with its last end."""

    @abstractmethod
    def rows(self, wanted: Filter | None = None) -> AsyncIterator[Exported]:
        """Yield archived executions, segment by segment, each with its last end."""
