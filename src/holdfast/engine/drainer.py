"""The drainer: ends the drain of a revision when nothing needs it any more."""

from __future__ import annotations

import asyncio
import logging

from holdfast.concurrency import wait_or_timeout
from holdfast.engine.deployments import Deployments
from holdfast.errors import Conflict, NotFound
from holdfast.store import channels
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: A failover can lose notifications, so draining revisions are also counted this often.
POLL_S = 10.0


class Drainer:
    """Settles revisions that drain. Partitions announce when nothing in them needs one any more."""

    name = "drainer"

    def __init__(self, store: Store) -> None:
        self._store = store
        self._deployments = Deployments(store)

    async def run(self) -> None:
        """Settle draining revisions until cancelled."""
        news = asyncio.Event()
        heard = [channels.drained(tag) for tag in self._store.tags()]

        def wake(_channel: str, _revision: str) -> None:
            news.set()

        await self._store.subscriptions.add(heard, wake)
        try:
            while True:
                news.clear()
                await self.settle()
                await wait_or_timeout(news, POLL_S)
        finally:
            await self._store.subscriptions.remove(heard, wake)

    async def settle(self) -> None:
        """End the drains of revisions that nothing needs."""
        for ref, revision_id in await self._store.deployments.draining():
            try:
                revision = await self._deployments.settle(ref, revision_id)
            except (NotFound, Conflict) as error:
                log.debug("%s: another process has settled it (%s)", revision_id, error)
            else:
                log.debug("revision %s is %s", revision_id, revision.lifecycle)
