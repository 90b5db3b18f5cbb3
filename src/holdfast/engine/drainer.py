"""The drainer: ends the drain of a revision when nothing needs it, and by force after the deadline.

    drains --> deadline: what waits moves or ends --> grace --> what runs ends --> inactive

Any number of processes may run it, and each may die at any time: every step is one call that looks
at one execution and finds its work done if another process did it.
"""

from __future__ import annotations

import asyncio
import logging

from holdfast.concurrency import wait_or_timeout
from holdfast.engine.deployments import Deployments
from holdfast.errors import Conflict, NotFound
from holdfast.model.deployments import Deployment, Drain
from holdfast.model.revisions import Lifecycle
from holdfast.store import channels
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: A failover can lose notifications, so draining revisions are also counted this often.
POLL_S = 10.0
#: How often an overdue drain is looked at: turns end, and conversations that were asked move.
OVERDUE_POLL_S = 1.0
#: How long executions may still run after the deadline. A host that dies meanwhile has the time to
#: lose its leases.
GRACE_MS = 60_000
#: Executions that one call lists.
_PAGE = 100


class Drainer:
    """Settles revisions that drain. Partitions announce when nothing in them needs one any more."""

    name = "drainer"

    def __init__(self, store: Store, *, grace_ms: int = GRACE_MS) -> None:
        self._store = store
        self._deployments = Deployments(store)
        self._grace_ms = grace_ms

    async def run(self) -> None:
        """Settle draining revisions until cancelled."""
        news = asyncio.Event()
        heard = [
            *(channels.drained(tag) for tag in self._store.tags()),
            # Another deadline is a change of a deployment.
            channels.deployments(self._store.global_tag),
        ]

        def wake(_channel: str, _revision: str) -> None:
            news.set()

        await self._store.subscriptions.add(heard, wake)
        try:
            while True:
                news.clear()
                await wait_or_timeout(news, await self.settle())
        finally:
            await self._store.subscriptions.remove(heard, wake)

    async def settle(self) -> float:
        """End what can end now; returns after how many seconds to look again."""
        pause_s = POLL_S
        for drain in await self._store.deployments.drains():
            try:
                lifecycle = await self._settle(drain)
            except (NotFound, Conflict) as error:
                log.debug("%s: another process has settled it (%s)", drain.revision, error)
                continue
            if lifecycle is Lifecycle.DRAINING and drain.left_ms is not None:
                until_s = drain.left_ms / 1000 if drain.left_ms > 0 else OVERDUE_POLL_S
                pause_s = min(pause_s, until_s)
        return pause_s

    async def _settle(self, drain: Drain) -> Lifecycle:
        revision = await self._deployments.settle(drain.deployment, drain.revision)
        is_left = revision.lifecycle is Lifecycle.DRAINING
        if is_left and drain.is_overdue:
            await self._release(drain)
            revision = await self._deployments.settle(drain.deployment, drain.revision)
        log.debug("revision %s is %s", drain.revision, revision.lifecycle)
        return revision.lifecycle

    async def _release(self, drain: Drain) -> None:
        """Move or end what needs an overdue revision."""
        deployment = await self._store.deployments.get(drain.deployment)
        how = "restart" if deployment.pack is None else "move"
        if drain.left_ms is not None and drain.left_ms <= -self._grace_ms:
            how = "force"
        counts: dict[str, int] = {}
        for tag in self._store.tags():
            await self._release_in(tag, deployment, drain.revision, how, counts)
        if counts.get("asked") or counts.get("ended"):
            log.info(
                "the drain of revision %s of %s is overdue: %d conversations were asked to move, "
                "%d executions were ended",
                drain.revision,
                deployment.id,
                counts.get("asked", 0),
                counts.get("ended", 0),
            )

    async def _release_in(
        self, tag: str, deployment: Deployment, revision: str, how: str, counts: dict[str, int]
    ) -> None:
        needs, left = self._store.needs, 0
        while True:
            # What was asked or ended is not among those that wait any more; the rest is skipped.
            page = await needs.in_partition(
                tag, deployment.tenant, revision, after=left, limit=_PAGE
            )
            words = await asyncio.gather(
                *(
                    needs.release(
                        deployment.tenant,
                        revision,
                        need.execution,
                        how=how,
                        text=deployment.restart_text,
                    )
                    for need in page
                )
            )
            for word in words:
                counts[word] = counts.get(word, 0) + 1
            left += words.count("left")
            if len(page) < _PAGE:
                return
