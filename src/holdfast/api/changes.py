"""Following one execution: its history and its state, live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from holdfast.model.feeds import Change


class Changes(ABC):
    """Followers of executions of a process."""

    @abstractmethod
    def follow(self, execution_id: str, after: str | None = None) -> AsyncIterator[Change]:
        """Yield what happened so far, or since a position, then what happens, until its end."""
