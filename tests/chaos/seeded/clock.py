"""The clock of the store's servers, as the test build of the library reads it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence

from holdfast.errors import HoldfastError
from holdfast.store.store import Store
from holdfast.store.valkey.failures import CallFailed

_TIMERS_IN_TICK = 100


class StoreClock:
    """Shifts the time of a store, which goes on by itself."""

    def __init__(self, store: Store, queues: list[str]) -> None:
        self._store = store
        self._queues = queues
        self.shift_ms = 0
        #: When the clock went forward, from and to, and by how much.
        self.jumps: list[tuple[float, float, int]] = []
        #: The latest time that there was.
        self._latest_ms = 0

    @property
    def now_ms(self) -> int:
        """The time of the store."""
        return round(time.time() * 1000) + self.shift_ms

    async def jump(self, ms: int, places: Sequence[str] | None = None) -> None:
        """Move the time, forward or back, as far as the servers answer; everywhere, or in places.

        A later jump everywhere starts from the time before a jump in places.
        """
        shift_ms = self.shift_ms + ms
        if places is None:
            self.shift_ms = shift_ms
        self._latest_ms = max(self._latest_ms, shift_ms)
        began = time.monotonic()
        where = self.places if places is None else places
        await asyncio.gather(*(self._set(tag, shift_ms) for tag in where))
        self.jumps.append((began, time.monotonic(), ms))

    def jumped(self, began: float, ended: float, least_ms: int) -> bool:
        """Whether the clock went forward that far within a time."""
        return any(
            ms >= least_ms and start < ended and began < end for start, end, ms in self.jumps
        )

    async def catch_up(self) -> None:
        """Return to the latest time that there was, after jumps back."""
        await self.jump(self._latest_ms - self.shift_ms)

    @property
    def places(self) -> list[str]:
        """The tags of everything that has a time."""
        return [*self._store.timed_tags(), *map(self._store.queue_tag, self._queues)]

    async def _set(self, tag: str, shift_ms: int) -> None:
        with contextlib.suppress(CallFailed):
            await self._store.client.call(["SET", f"{tag}:clock", f"{shift_ms:+d}"])

    async def tick(self) -> None:
        """Fire what is due."""
        for tag in self._store.timed_tags():
            with contextlib.suppress(HoldfastError):
                await self._store.timers.tick(tag, _TIMERS_IN_TICK)
        for queue in self._queues:
            with contextlib.suppress(HoldfastError):
                await self._store.queues.tick(queue, _TIMERS_IN_TICK)
