"""How many calls of a tenant run at once, so that one tenant cannot keep others waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from holdfast.host.components.failures import failed


@dataclass(slots=True)
class _Tenant:
    semaphore: asyncio.Semaphore
    #: Calls that run or wait; the entry is dropped with the last of them.
    calls: int = field(default=0)


class Slots:
    """The slots of all tenants. A slot is given back when the work ends, not when callers leave."""

    def __init__(self, per_tenant: int) -> None:
        self._per_tenant = per_tenant
        self._tenants: dict[str, _Tenant] = {}

    async def take(self, tenant: str, timeout_ms: int) -> None:
        """Wait for a slot; raises NodeFailed if there is none in time."""
        slots = self._tenants.get(tenant)
        if slots is None:
            slots = self._tenants[tenant] = _Tenant(asyncio.Semaphore(self._per_tenant))
        slots.calls += 1
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await slots.semaphore.acquire()
        except BaseException as error:
            self._leave(tenant, slots)
            if isinstance(error, TimeoutError):
                raise failed("component_busy") from None
            raise

    @contextlib.asynccontextmanager
    async def taken(self, tenant: str, timeout_ms: int) -> AsyncIterator[None]:
        """Hold a slot while the block runs; raises NodeFailed if there is none in time."""
        await self.take(tenant, timeout_ms)
        try:
            yield
        finally:
            self.give_back(tenant)

    def give_back(self, tenant: str) -> None:
        """Give a slot back."""
        slots = self._tenants[tenant]
        slots.semaphore.release()
        self._leave(tenant, slots)

    def _leave(self, tenant: str, slots: _Tenant) -> None:
        slots.calls -= 1
        if not slots.calls:
            del self._tenants[tenant]
