"""Heartbeats: what a thread of a worker needs of an engine, near or far, one blocking call each."""

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
        """Register or refresh a worker; returns whether it should drain."""
        ...

    def remove_worker(self, instance: str) -> None:
        """Take a worker off the registry."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
