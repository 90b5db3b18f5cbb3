"""The timer loop: ticks each place when a timer is due there, and when a wake-up arrives.

A place has its own timers: it is a partition or a message queue. Any number of processes may run
the same loop, because a tick is idempotent.
"""

from __future__ import annotations

import asyncio
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

from holdfast.concurrency import wait_or_timeout
from holdfast.errors import HoldfastError
from holdfast.outages import level
from holdfast.store.valkey.subscriptions import Subscriptions

log: logging.Logger = logging.getLogger(__name__)

PAUSE_AFTER_ERROR_S = 1.0


class TimerLoop(ABC):
    """Ticks places while `run` runs."""

    name: str
    #: The name of a place in the fields of log lines.
    place: str

    def __init__(self, subscriptions: Subscriptions, channels: Mapping[str, str]) -> None:
        self._subscriptions = subscriptions
        #: The channels that wake it, each with its place.
        self._channels = dict(channels)
        self._look_at: dict[str, float] = dict.fromkeys(channels.values(), 0.0)
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Tick until cancelled."""
        self._look_at = dict.fromkeys(self._look_at, 0.0)
        await self._subscriptions.add(self._channels, self._on_wake)
        try:
            while True:
                self._woken.clear()
                await self._refresh()
                now = asyncio.get_running_loop().time()
                due = [place for place, at in self._look_at.items() if at <= now]
                await asyncio.gather(*map(self._look, due))
                await self._sleep()
        finally:
            await self._subscriptions.remove(list(self._channels), self._on_wake)

    @abstractmethod
    async def _tick(self, place: str) -> float:
        """Fire what is due; return in how many seconds to look again."""

    async def _refresh(self) -> None:  # noqa: B027 - most loops know their places
        """Read the list of places, if they come and go."""

    def _until(self) -> float:
        """Return when to look again without a wake-up."""
        return min(self._look_at.values(), default=math.inf)

    def _on_wake(self, channel: str, _message: str) -> None:
        self.wake(self._channels[channel])

    def wake(self, place: str) -> None:
        """Look at a place as soon as possible."""
        self._look_at[place] = 0.0
        self._woken.set()

    async def _look(self, place: str) -> None:
        # A wake-up may arrive before the reply; it must not get lost.
        self._look_at[place] = math.inf
        try:
            pause_s = await self._tick(place)
        except HoldfastError as error:
            log.log(level(error), "a tick failed: %s", error, extra={self.place: place})
            pause_s = PAUSE_AFTER_ERROR_S
        next_look = asyncio.get_running_loop().time() + pause_s
        self._look_at[place] = min(self._look_at[place], next_look)

    async def _sleep(self) -> None:
        loop = asyncio.get_running_loop()
        await wait_or_timeout(self._woken, self._until() - loop.time())
