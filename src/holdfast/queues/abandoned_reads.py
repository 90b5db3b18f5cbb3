"""Returns messages that were handed out to a read or a take-over whose caller was cancelled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from holdfast.errors import HoldfastError
from holdfast.model.deliveries import Delivery, Settle
from holdfast.outages import level
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")


class AbandonedReads:
    """Finishes reads whose callers are gone, and releases their messages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._under_way: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Wait for the releases under way."""
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def unless_cancelled(
        self, name: str, call: Coroutine[Any, Any, T], held: Callable[[T], Sequence[Delivery]]
    ) -> T:
        """Return the answer of a call; if the caller is cancelled, release what it holds."""
        reading = asyncio.ensure_future(call)
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            task = asyncio.ensure_future(self._release(name, reading, held))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            raise

    async def _release(
        self, name: str, reading: asyncio.Future[T], held: Callable[[T], Sequence[Delivery]]
    ) -> None:
        try:
            deliveries = held(await reading)
            items = [Settle(handle=delivery.handle) for delivery in deliveries]
            if items:
                await self._store.queues.settle(name, "release", items)
        except HoldfastError as error:
            # Their locks expire, and they are handed out again.
            log.log(level(error), "cannot return messages to queue %s: %s", name, error)
