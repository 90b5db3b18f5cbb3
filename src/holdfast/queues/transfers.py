"""Moves messages between queues: move, and redrive of dead letters.

One call takes messages out of their queue and writes them to its outbox; then they are delivered.
No message is lost or duplicated, no matter when a process dies.
"""

from __future__ import annotations

import asyncio

from holdfast.model.messages import LetterFilter
from holdfast.queues.outbox import QueueOutboxes
from holdfast.store.store import Store

#: Messages per call; a call examines up to 500.
AT_ONCE = 100


class Transfers:
    """Moves messages."""

    def __init__(self, store: Store, outboxes: QueueOutboxes) -> None:
        self._store = store
        self._outboxes = outboxes

    async def transfer(
        self,
        name: str,
        *,
        to: str,
        limit: int,
        wanted: LetterFilter,
        rate_per_s: float | None = None,
        dry_run: bool = False,
    ) -> int:
        """Move ready messages in order; returns how many.

        With a rate, messages move in small portions, each worth a tenth of a second.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        portion = AT_ONCE
        if rate_per_s is not None:
            portion = max(1, min(AT_ONCE, int(rate_per_s / 10)))
        moved, cursor = 0, ""
        while moved < limit:
            taken, cursor = await self._store.queues.take(
                name,
                to=to,
                limit=min(portion, limit - moved),
                dry_run=dry_run,
                cursor=cursor,
                wanted=wanted,
            )
            moved += taken
            await self._outboxes.deliver_if_owed(name)
            if not cursor:
                break
            if rate_per_s is not None and not dry_run:
                await asyncio.sleep(max(0.0, started + moved / rate_per_s - loop.time()))
        return moved
