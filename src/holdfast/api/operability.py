"""Operability: is the store sound, and what is it doing?"""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.findings import Finding
from holdfast.model.snapshots import Snapshot


class Operability(ABC):
    """What operators and consoles ask about a whole store."""

    @abstractmethod
    async def doctor(self) -> list[Finding]:
        """Check the store, in bounded time and without changing anything.

        A check without an answer becomes a finding. Over HTTP, raises Forbidden without an
        operator key.
        """

    @abstractmethod
    async def snapshot(self) -> Snapshot:
        """Return what the store is doing; over HTTP, a key of one tenant sees its own."""
