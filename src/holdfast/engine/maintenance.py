"""Maintenance: fires the timers of all partitions when they are due.

Any number of processes may run it. It sleeps until the next timer is due, is woken when an
earlier one is set, and looks once a second in any case.
"""

from __future__ import annotations

import asyncio
import logging
import math

from holdfast.engine.courier import Courier
from holdfast.errors import HoldfastError
from holdfast.store import keys
from holdfast.store.outages import level
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

TIMERS_IN_TICK = 100
_PAUSE_AFTER_ERROR_S = 1.0


class Ticker:
    """Fires timers for as long as `run` runs."""

    def __init__(self, store: Store, courier: Courier | None = None) -> None:
        self._store = store
        self._courier = courier
        tags = list(store.timed_tags())
        self._look_at = dict.fromkeys(tags, 0.0)
        self._channels = {keys.tick_channel(tag): tag for tag in tags}
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Fire timers until cancelled."""
        await self._store.subscriptions.add(self._channels, self._on_wake)
        try:
            while True:
                await self._look()
                await self._sleep()
        finally:
            await self._store.subscriptions.remove(self._channels, self._on_wake)

    def _on_wake(self, channel: str, _message: str) -> None:
        self._look_at[self._channels[channel]] = 0.0
        self._woken.set()

    async def _look(self) -> None:
        """Tick every partition in which something may be due."""
        self._woken.clear()
        now = asyncio.get_running_loop().time()
        due = [tag for tag, at in self._look_at.items() if at <= now]
        await asyncio.gather(*(self._tick(tag) for tag in due))

    async def _tick(self, tag: str) -> None:
        # A wake-up may overtake the reply; it must not be forgotten.
        self._look_at[tag] = math.inf
        try:
            fired, sleep_ms = await self._store.timers.tick(tag, TIMERS_IN_TICK)
            pause_s = sleep_ms / 1000
            if fired and self._courier is not None:
                self._courier.poke(tag)
        except HoldfastError as error:
            log.log(level(error), "a tick failed: %s", error, extra={"partition": tag})
            pause_s = _PAUSE_AFTER_ERROR_S
        next_look = asyncio.get_running_loop().time() + pause_s
        self._look_at[tag] = min(self._look_at[tag], next_look)

    async def _sleep(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(max(min(self._look_at.values()), loop.time())):
                await self._woken.wait()
        except TimeoutError:
            pass
