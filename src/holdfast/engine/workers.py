"""Workers: registration, heartbeats, drain."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from holdfast import api
from holdfast.api.workers import DEFAULT_TTL_MS
from holdfast.model import bounds, checks
from holdfast.model.workers import Beat, Registration, Worker
from holdfast.store.store import Store


class Workers(api.Workers):
    """The registry of workers."""

    def __init__(self, store: Store) -> None:
        self._workers = store.workers

    @override
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
        is_new, expires_at, draining = await self._workers.register(beat)
        return Registration(is_new=is_new, expires_at=expires_at, draining=draining)

    @override
    async def drain(self, instance: str, *, tenant: str | None = None) -> None:
        await self._workers.drain(checks.name("instance", instance), tenant)

    async def is_draining(self, instance: str, *, tenant: str | None = None) -> bool:
        """Return whether a worker of this tenant, or of none, was asked to drain."""
        return await self._workers.is_draining(checks.name("instance", instance), tenant)

    @override
    async def remove(self, instance: str, *, tenant: str | None = None) -> bool:
        return await self._workers.remove(checks.name("instance", instance), tenant)

    @override
    async def list(self) -> list[Worker]:
        return await self._workers.list()
