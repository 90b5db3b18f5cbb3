"""Samples of queues for event feeds.

Each queue is a partition of its own, so it cannot write to a tenant's feed. While somebody follows
the queues of a tenant, this process compares their counts with what the feed has, and the store
appends what differs. The queues themselves do nothing for it. Processes that sample the same
tenant write each change once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from holdfast.concurrency import stop
from holdfast.errors import HoldfastError
from holdfast.model import names
from holdfast.model.feeds import Noun
from holdfast.operate.depths import MOST_QUEUES, depths
from holdfast.outages import level
from holdfast.queues import Queues
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

EVERY_S = 1.0


class QueueSamples:
    """The samples that this process takes, one task for each tenant."""

    def __init__(self, store: Store, queues: Queues) -> None:
        self._store = store
        self._queues = queues
        #: How many follow the queues of a tenant, and the task that samples them.
        self._taking: dict[str, tuple[int, asyncio.Task[None]]] = {}

    @contextlib.asynccontextmanager
    async def taken(self, tenant: str) -> AsyncIterator[None]:
        """Sample the queues of a tenant, at once and for as long as a block runs."""
        await self._sample(tenant)
        followers, task = self._taking.get(tenant) or (0, asyncio.ensure_future(self._run(tenant)))
        self._taking[tenant] = (followers + 1, task)
        try:
            yield
        finally:
            followers, task = self._taking.pop(tenant)
            if followers > 1:
                self._taking[tenant] = (followers - 1, task)
            else:
                await stop(task)

    async def _run(self, tenant: str) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self._sample(tenant)
            except HoldfastError as error:
                # The next sample has what this one misses.
                log.log(level(error), "the queues of %s were not sampled: %s", tenant, error)

    async def _sample(self, tenant: str) -> None:
        seen = await depths(self._queues, tenant)
        facts = {
            names.parse(depth.queue)[1]: " ".join(
                str(int(fact))
                for fact in (
                    depth.ready,
                    depth.delayed,
                    depth.in_flight,
                    depth.dead,
                    depth.paused,
                )
            )
            for depth in seen[:MOST_QUEUES]
        }
        is_whole = len(seen) <= MOST_QUEUES
        await self._store.feeds.note(tenant, Noun.QUEUE, facts, whole=is_whole)
