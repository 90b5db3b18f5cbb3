"""Returns messages that were handed out to a read whose caller was cancelled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.model.deliveries import Delivery, Settle
from holdfast.outages import level
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

Answer = tuple[Sequence[Delivery], int | None]


class AbandonedReads:
    """Finishes reads whose callers are gone, and releases their messages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._under_way: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Wait for the releases under way."""
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def unless_cancelled(self, name: str, call: Coroutine[Any, Any, Answer]) -> Answer:
        """Return the answer of a read; if the caller is cancelled, release its messages."""
        reading = asyncio.ensure_future(call)
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            task = asyncio.ensure_future(self._release(name, reading))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            raise

    async def _release(self, name: str, reading: asyncio.Future[Answer]) -> None:
        try:
            deliveries, _ = await reading
            items = [Settle(handle=delivery.handle) for delivery in deliveries]
            if items:
                await self._store.queues.settle(name, "release", items)
        except HoldfastError as error:
            # Their locks expire, and they are handed out again.
            log.log(level(error), "cannot return messages to queue %s: %s", name, error)
