"""Workers: registration, heartbeats, drain."""

from __future__ import annotations

from typing_extensions import override

from holdfast import api
from holdfast.model import checks
from holdfast.model.workers import Beat, Registration, Worker
from holdfast.store.store import Store


class Workers(api.Workers):
    """The registry of workers."""

    def __init__(self, store: Store) -> None:
        self._workers = store.workers

    @override
    async def _register(self, beat: Beat) -> Registration:
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
