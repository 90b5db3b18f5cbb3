"""The doctor and the snapshot of a store."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.findings import Finding
from holdfast.model.snapshots import Snapshot


class Operability(ABC):
    """The doctor and the snapshot, for operators and consoles."""

    @abstractmethod
    async def doctor(self) -> list[Finding]:
        """Check the store, in bounded time and without changing anything.

        A check without an answer becomes a finding. Over HTTP, it raises Forbidden without
        an operator key.
        """

    @abstractmethod
    async def snapshot(self) -> Snapshot:
        """Return a snapshot. Over HTTP, a key of one tenant sees only that tenant's data."""
