"""The ticker: fires the timers of all partitions when they are due.

Any number of processes may run it. It sleeps until the next timer is due, wakes up when an earlier
one is set, and looks once a second in any case.
"""

from __future__ import annotations

from holdfast.engine.courier import Courier
from holdfast.services import TimerLoop
from holdfast.store import channels
from holdfast.store.store import Store

TIMERS_IN_TICK = 100


class Ticker(TimerLoop):
    """Fires timers while `run` runs."""

    name = "ticker"
    place = "partition"

    def __init__(self, store: Store, courier: Courier | None = None) -> None:
        tags = store.timed_tags()
        super().__init__(store.subscriptions, {channels.timers(tag): tag for tag in tags})
        self._store = store
        self._courier = courier

    async def _tick(self, place: str) -> float:
        if place == self._store.global_tag:
            await self._store.loader.keep()
        fired, sleep_ms = await self._store.timers.tick(place, TIMERS_IN_TICK)
        if fired and self._courier is not None:
            self._courier.poke(place)
        return sleep_ms / 1000
