"""Workers that were asked to drain: they get no more executions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from holdfast.engine import Engine
from holdfast.errors import HoldfastError, LeaseLost
from holdfast.model.executions import Claim

log: logging.Logger = logging.getLogger(__name__)

#: After a longer claim, the registry is read again.
_LOOK_AGAIN_S = 1.0
_MOST_NOTED = 10_000


async def give_back(engine: Engine, claims: Sequence[Claim]) -> None:
    """Return the leases of a worker that does not get them, so that others have them at once."""
    releases = (engine.delay(one.id, one.lease, 0) for one in claims)
    for answer in await asyncio.gather(*releases, return_exceptions=True):
        # One that cannot be returned is no reason to keep the others: its lease ends.
        if isinstance(answer, HoldfastError):
            if not isinstance(answer, LeaseLost):
                log.warning("cannot return an execution that was claimed: %s", answer)
        elif isinstance(answer, BaseException):
            raise answer


class Draining:
    """The workers that may have been asked to drain. The store has the truth."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._noted: set[str] = set()

    def note(self, instance: str) -> None:
        """Remember a worker that was just asked to drain."""
        if len(self._noted) >= _MOST_NOTED:
            self._noted.clear()
        self._noted.add(instance)

    async def claim(
        self,
        instance: str,
        tenant: str | None,
        claim: Callable[[], Awaitable[list[Claim]]],
        held: Callable[[], Awaitable[list[Claim]]],
    ) -> tuple[list[Claim], bool]:
        """Claim for a worker unless it was asked to drain; also return whether it was.

        The registry is read together with the claim, not before it: the calls share a round trip.
        A draining worker that repeats a call does not get what it holds from the first one either.
        """
        if instance in self._noted and await self._look(instance, tenant):
            await give_back(self._engine, await held())
            return [], True
        loop = asyncio.get_running_loop()
        began = loop.time()
        is_draining, claims = await asyncio.gather(self._look(instance, tenant), claim())
        if instance in self._noted or loop.time() - began > _LOOK_AGAIN_S:
            is_draining = await self._look(instance, tenant)
        if not is_draining:
            return claims, False
        await give_back(self._engine, claims)
        return [], True

    async def _look(self, instance: str, tenant: str | None) -> bool:
        try:
            is_draining = await self._engine.workers.is_draining(instance, tenant=tenant)
        except HoldfastError as error:
            # Executions that were claimed meanwhile must reach their worker.
            log.warning("cannot tell whether worker %s is draining: %s", instance, error)
            return False
        if is_draining:
            self.note(instance)
        else:
            self._noted.discard(instance)
        return is_draining
