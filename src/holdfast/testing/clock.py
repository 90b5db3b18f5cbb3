"""The clock of a store with a test build of the library."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from typing_extensions import override

from holdfast.model.moments import from_ms
from holdfast.store.queues import Queues
from holdfast.store.store import Store

#: 2026-01-01 00:00:00 UTC.
START_MS = 1_767_225_600_000

_TIMERS_IN_TICK = 100
#: Lease holders renew before each hop; the longest lease is a day.
_HOP_MS = 12 * 3_600_000


class TimedQueues(Queues):
    """Queues that begin with the time of their store."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._client, self._global_tag = store.client, store.global_tag

    @override
    async def enlist(self, name: str, *, listed: bool = True) -> None:
        await super().enlist(name, listed=listed)
        if not listed:
            return
        # A queue is listed before it is defined.
        now_ms = await self._client.call(["GET", f"{self._global_tag}:clock"])
        if now_ms is not None:
            tag = self._store.queue_tag(name)
            await self._client.call(["SET", f"{tag}:clock", now_ms, "NX"])


class Clock:
    """Sets the time of a store, which stands still in between."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.now_ms: int = START_MS
        #: Called with the ms to come before the time advances, so that lease holders can renew.
        self.before_move: list[Callable[[int], Awaitable[None]]] = []
        store.queues = TimedQueues(store)

    @property
    def now(self) -> datetime:
        """The time."""
        return from_ms(self.now_ms)

    async def set(self, now_ms: int) -> None:
        """Set the time of every partition."""
        self.now_ms = now_ms
        queues = [self._store.queue_tag(name) for name in await self._queues()]
        await asyncio.gather(
            *(
                self._store.client.call(["SET", f"{tag}:clock", str(now_ms)])
                for tag in (*self._store.timed_tags(), *queues)
            )
        )

    async def _queues(self) -> list[str]:
        """Return the names of the message queues."""
        names: list[str] = []
        while page := await self._store.queues.names(names[-1] if names else "", 1000):
            names += page
        return names

    async def advance(
        self,
        ms: int = 0,
        *,
        seconds: float = 0,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
    ) -> None:
        """Advance the time, such as `advance(minutes=5)`. Nothing fires until a tick."""
        span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        left = ms + span // timedelta(milliseconds=1)
        while self.before_move and left > 0:
            hop = min(left, _HOP_MS)
            for keep in self.before_move:
                await keep(hop)
            await self.set(self.now_ms + hop)
            left -= hop
        if left:
            await self.set(self.now_ms + left)

    async def due_of(self, execution_id: str) -> datetime | None:
        """Return when the timer of an execution fires, or None if it has none."""
        timers = f"{self._store.tag_of(execution_id)}:timers"
        due = await self._store.client.call(["ZSCORE", timers, f"x:{execution_id}"])
        return None if due is None else from_ms(int(float(due)))

    async def tick(self) -> int:
        """Fire due timers; return how many fired."""
        fired = 0
        for tag in self._store.timed_tags():
            while True:
                count, sleep_ms = await self._store.timers.tick(tag, _TIMERS_IN_TICK)
                fired += count
                if sleep_ms > 0:
                    break
        for name in await self._queues():
            while True:
                count, sleep_ms = await self._store.queues.tick(name, _TIMERS_IN_TICK)
                fired += count
                if sleep_ms > 0:
                    break
        return fired

    async def advance_and_tick(self, ms: int) -> int:
        """Advance the time and fire due timers; return how many fired."""
        await self.advance(ms)
        return await self.tick()
