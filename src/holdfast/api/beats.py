"""Heartbeats: the blocking calls that a worker's heartbeat thread makes, near or over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from holdfast.errors import HoldfastError
from holdfast.model.executions import Lease
from holdfast.model.workers import Beat


class Beats(Protocol):
    """Renews leases and keeps a worker registered."""

    def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int
    ) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""
        ...

    def register_worker(self, beat: Beat) -> bool:
        """Register or refresh a worker; return whether it should drain."""
        ...

    def remove_worker(self, instance: str) -> None:
        """Remove a worker from the registry."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
