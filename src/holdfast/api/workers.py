"""Workers: register, send heartbeats, drain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from holdfast.model import bounds, checks
from holdfast.model.workers import Beat, Registration, Worker

DEFAULT_TTL_MS = 30_000


class Workers(ABC):
    """The registry of workers."""

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
        beat = Beat(
            instance=checks.name("instance", instance),
            worker=checks.name("worker", worker),
            lanes=checks.names("lanes", lanes, bounds.LANES, least=1),
            capabilities=checks.names("capabilities", capabilities, bounds.CAPABILITIES),
            slots=checks.integer("slots", slots, 1, bounds.SLOTS),
            busy=checks.integer("busy", busy, 0, bounds.SLOTS),
            ttl_ms=checks.lease_ms("ttl_ms", ttl_ms),
            tenant=None if tenant is None else checks.name("tenant", tenant),
            kinds=checks.kinds("kinds", kinds),
        )
        return await self._register(beat)

    @abstractmethod
    async def _register(self, beat: Beat) -> Registration:
        """Register the worker of a beat that has been checked."""

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
