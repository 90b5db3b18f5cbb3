"""Maintenance of queues: fires their timers, and delivers what they owe after a crash.

Any number of processes may run it. It sleeps until the next timer of any queue is due, is woken
when an earlier one is set, and looks at every queue now and then in any case. Reading and settling
fire what is due by themselves, so a late look delays counts, never messages that somebody waits
for.
"""

from __future__ import annotations

import asyncio
import logging
import math

from holdfast.errors import HoldfastError, QueueNotFound
from holdfast.queues.outbox import Outboxes
from holdfast.store import keys
from holdfast.store.outages import level
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

THINGS_IN_TICK = 200
#: How often the list of queues is read anew; it is announced when a queue is new.
LIST_EVERY_S = 30.0
_PAUSE_AFTER_ERROR_S = 1.0
_NAMES_AT_ONCE = 1000
#: The lane of enlist.lua on which new queues are announced.
LANE = "queues"


class QueueTicker:
    """Fires timers of queues for as long as `run` runs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outboxes = Outboxes(store)
        self._look_at: dict[str, float] = {}
        self._channels: dict[str, str] = {}
        self._list_at = 0.0
        self._news = keys.wake_channel(store.global_tag, LANE)
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Fire timers until cancelled."""
        await self._store.subscriptions.add([self._news], self._on_wake)
        try:
            while True:
                self._woken.clear()
                await self._list()
                now = asyncio.get_running_loop().time()
                due = [name for name, at in self._look_at.items() if at <= now]
                await asyncio.gather(*(self._tick(name) for name in due))
                await self._sleep()
        finally:
            await self._store.subscriptions.remove([*self._channels, self._news], self._on_wake)

    def _on_wake(self, channel: str, _message: str) -> None:
        if channel == self._news:
            self._list_at = 0.0
        else:
            self._look_at[self._channels[channel]] = 0.0
        self._woken.set()

    async def _list(self) -> None:
        """Learn of new queues, and forget those that are gone."""
        now = asyncio.get_running_loop().time()
        if now < self._list_at:
            return
        self._list_at = now + LIST_EVERY_S
        try:
            names = await self._names()
        except HoldfastError as error:
            log.log(level(error), "queues cannot be listed: %s", error)
            self._list_at = now + _PAUSE_AFTER_ERROR_S
            return
        fresh = {
            keys.tick_channel(self._store.queue_tag(name)): name
            for name in names
            if name not in self._look_at
        }
        gone = [channel for channel, name in self._channels.items() if name not in names]
        self._channels.update(fresh)
        self._look_at.update(dict.fromkeys(fresh.values(), 0.0))
        await self._store.subscriptions.add(fresh, self._on_wake)
        await self._store.subscriptions.remove(gone, self._on_wake)
        for channel in gone:
            del self._look_at[self._channels.pop(channel)]

    async def _names(self) -> set[str]:
        found: list[str] = []
        while page := await self._store.queues.names(found[-1] if found else "", _NAMES_AT_ONCE):
            found += page
        return set(found)

    async def _tick(self, name: str) -> None:
        # A wake-up may overtake the reply; it must not be forgotten.
        self._look_at[name] = math.inf
        try:
            _, sleep_ms = await self._store.queues.tick(name, THINGS_IN_TICK)
            pause_s = sleep_ms / 1000
            await self._outboxes.deliver_if_owed(name)
        except QueueNotFound:
            pause_s = LIST_EVERY_S
        except HoldfastError as error:
            log.log(level(error), "a tick failed: %s", error, extra={"queue": name})
            pause_s = _PAUSE_AFTER_ERROR_S
        next_look = asyncio.get_running_loop().time() + pause_s
        self._look_at[name] = min(self._look_at[name], next_look)

    async def _sleep(self) -> None:
        loop = asyncio.get_running_loop()
        until = min([self._list_at, *self._look_at.values()])
        try:
            async with asyncio.timeout_at(max(until, loop.time())):
                await self._woken.wait()
        except TimeoutError:
            pass
