"""Follow one execution: its history and its state, live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from holdfast.model.feeds import Change


class Changes(ABC):
    """Followers of executions of a process."""

    @abstractmethod
    def follow(self, execution_id: str, after: str | None = None) -> AsyncIterator[Change]:
        """Yield the history, from its start or from a position, then live events until the end."""
