"""Event feeds: all changes of state of a tenant's executions, in one order, live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from holdfast.model.feeds import Gap, StateChange


class Feeds(ABC):
    """The event feeds of a store."""

    @abstractmethod
    def follow(
        self, tenant: str, after: str | None = None
    ) -> AsyncIterator[StateChange | Gap | None]:
        """Yield changes as they happen, from now or from a position.

        The first item is None: no change after it is missed. Changes follow, with a Gap where some
        are no longer kept.
        """
