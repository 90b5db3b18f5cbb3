"""The queue ticker: fires the timers of queues, and delivers their outboxes after a crash.

Any number of processes may run it. It sleeps until the next timer of any queue is due, wakes up
when an earlier one is set, and visits every queue now and then in any case. Reading and settling
also fire due timers, so a late tick delays counts, but never messages that a reader waits for.
"""

from __future__ import annotations

import asyncio
import logging

from holdfast.errors import HoldfastError, QueueNotFound
from holdfast.outages import level
from holdfast.queues.outbox import QueueOutboxes
from holdfast.services import TimerLoop
from holdfast.services.timer_loop import PAUSE_AFTER_ERROR_S
from holdfast.store import channels
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

THINGS_IN_TICK = 200
#: How often the list of queues is read; a new queue is also announced.
LIST_EVERY_S = 30.0
_NAMES_AT_ONCE = 1000
#: The topic on which enlist.lua announces new queues.
TOPIC = "queues"


class QueueTicker(TimerLoop):
    """Fires the timers of queues while `run` runs."""

    name = "queue ticker"
    place = "queue"

    def __init__(self, store: Store) -> None:
        super().__init__(store.subscriptions, {})
        self._store = store
        self._outboxes = QueueOutboxes(store)
        self._list_at = 0.0
        self._news = channels.topic(store.global_tag, TOPIC)

    async def run(self) -> None:
        """Tick until cancelled."""
        self._list_at = 0.0
        await self._subscriptions.add([self._news], self._on_news)
        try:
            await super().run()
        finally:
            await self._subscriptions.remove([self._news], self._on_news)

    def _on_news(self, _channel: str, _message: str) -> None:
        self._list_at = 0.0
        self._woken.set()

    def _until(self) -> float:
        return min(self._list_at, super()._until())

    async def _refresh(self) -> None:
        """Add new queues, and remove deleted ones."""
        now = asyncio.get_running_loop().time()
        if now < self._list_at:
            return
        self._list_at = now + LIST_EVERY_S
        try:
            names = await self._names()
        except HoldfastError as error:
            log.log(level(error), "cannot list the queues: %s", error)
            self._list_at = now + PAUSE_AFTER_ERROR_S
            return
        fresh = {
            channels.timers(self._store.queue_tag(name)): name
            for name in names
            if name not in self._look_at
        }
        gone = [channel for channel, name in self._channels.items() if name not in names]
        self._channels.update(fresh)
        self._look_at.update(dict.fromkeys(fresh.values(), 0.0))
        await self._subscriptions.add(fresh, self._on_wake)
        await self._subscriptions.remove(gone, self._on_wake)
        for channel in gone:
            del self._look_at[self._channels.pop(channel)]

    async def _names(self) -> set[str]:
        names: list[str] = []
        while page := await self._store.queues.names(names[-1] if names else "", _NAMES_AT_ONCE):
            names += page
        return set(names)

    async def _tick(self, place: str) -> float:
        try:
            _, sleep_ms = await self._store.queues.tick(place, THINGS_IN_TICK)
            await self._outboxes.deliver_if_owed(place)
        except QueueNotFound:
            return LIST_EVERY_S
        return sleep_ms / 1000
