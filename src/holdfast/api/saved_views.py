"""Saved views of the console, for each API key."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod

from holdfast.model.saved_views import SavedView


class SavedViews(ABC):
    """The views of the caller's API key; programs on the store, and open servers, share theirs."""

    @abstractmethod
    async def list(self) -> builtins.list[SavedView]:
        """Return the views by name."""

    @abstractmethod
    async def put(self, view: SavedView) -> SavedView:
        """Save a view, or replace the one of this name. Raises TooManyViews above 100."""

    @abstractmethod
    async def delete(self, name: str) -> None:
        """Remove a view; it is fine if there is none."""
