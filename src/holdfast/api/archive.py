"""The archive: executions that retention has removed from the store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from holdfast.model.archive import ArchiveStatus, Survey
from holdfast.model.exports import Exported
from holdfast.model.listing import Filter, Page


class Archive(ABC):
    """Archived executions, for reading. A key of one tenant reads those of its own."""

    @abstractmethod
    async def survey(self) -> Survey:
        """Say where the archive is, what is in it, and what waits for it."""

    @abstractmethod
    async def status(self) -> ArchiveStatus:
        """Return what is there."""

    @abstractmethod
    async def get(self, execution_id: str) -> Exported:
        """Return an archived execution, its last end; raises ExecutionNotFound."""

    @abstractmethod
    async def owner(self, execution_id: str) -> str:
        """Return the tenant of an archived execution; raises ExecutionNotFound."""

    @abstractmethod
    async def page(
        self, wanted: Filter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        """Return a page of archived executions, newest first, each as it ended last."""

    @abstractmethod
    def rows(self, wanted: Filter | None = None) -> AsyncIterator[Exported]:
        """Go through archived executions, segment by segment, each as it ended last."""
