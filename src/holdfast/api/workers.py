"""Workers: register, send heartbeats, drain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from holdfast.model.workers import Registration, Worker

DEFAULT_TTL_MS = 30_000


class Workers(ABC):
    """The registry of workers."""

    @abstractmethod
    async def register(
        self,
        instance: str,
        *,
        worker: str,
        lanes: Sequence[str],
        capabilities: Sequence[str] = (),
        slots: int = 1,
        busy: int = 0,
        ttl_ms: int = DEFAULT_TTL_MS,
        tenant: str | None = None,
        kinds: Sequence[str] | None = None,
    ) -> Registration:
        """Register a worker, or send its heartbeat."""

    @abstractmethod
    async def drain(self, instance: str, *, tenant: str | None = None) -> None:
        """Ask a worker to finish and claim no more. It learns of it at its next heartbeat or claim.

        With a tenant, only a worker that serves just that tenant.
        """

    @abstractmethod
    async def remove(self, instance: str, *, tenant: str | None = None) -> bool:
        """Remove a worker from the registry; return whether it was registered."""

    @abstractmethod
    async def list(self) -> list[Worker]:
        """Return the live workers."""
