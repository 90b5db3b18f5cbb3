"""The doctor and the snapshot of a store, and what has an id."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.findings import Finding
from holdfast.model.found import Found
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

    @abstractmethod
    async def find(self, text: str, *, tenant: str | None = None) -> list[Found]:
        """Return what has this id: an execution, a graph, a session, a waitpoint, and so on.

        The cost is bounded: of the audit log, the last 1,000 entries are searched; of messages,
        the next 100 of 20 queues. Over HTTP, keys and requests need an admin key.
        """
