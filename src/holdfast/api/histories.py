"""Histories: what lanes and queues did in the last hour and the last week."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from holdfast.model.history import History, HistoryQuery, Span, Subject


class Histories(ABC):
    """Short history for charts. The service `historian` samples every 5 s."""

    async def read(
        self,
        subject: str = Subject.LANE,
        *,
        span: str = Span.HOUR,
        tenant: str | None = None,
        name: str | None = None,
        points: int = 60,
    ) -> Sequence[History]:
        """Return the history of lanes or queues, of one tenant or of all, by tenant and name.

        An hour is kept in parts of 5 s, a week in parts of 5 min; they are put together until
        there are at most `points`. Counts of executions leave out those that retention removed
        within 5 s of their end. Raises InvalidInput.
        """
        query = HistoryQuery.checked(subject, span, tenant=tenant, name=name, points=points)
        return await self._read(query)

    @abstractmethod
    async def _read(self, query: HistoryQuery) -> Sequence[History]:
        """Return histories."""
