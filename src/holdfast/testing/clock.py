"""The clock of a store with a test build of the library."""

from __future__ import annotations

import asyncio

from holdfast.store.store import Store

#: 2026-01-01 00:00:00 UTC.
START_MS = 1_767_225_600_000


class Clock:
    """Sets the time of a store; it stands still in between."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.now_ms = START_MS

    async def set(self, now_ms: int) -> None:
        """Set the time of every partition."""
        self.now_ms = now_ms
        await asyncio.gather(
            *(
                self._store.client.call(["SET", f"{tag}:clock", str(now_ms)])
                for tag in (*self._store.tags(), self._store.global_tag)
            )
        )

    async def advance(self, ms: int) -> None:
        """Move the time on."""
        await self.set(self.now_ms + ms)

    async def advance_and_tick(self, ms: int) -> int:
        """Move the time on and fire what is due; returns how many timers fired."""
        await self.advance(ms)
        fired = 0
        for tag in (*self._store.tags(), self._store.global_tag):
            while True:
                count, sleep_ms = await self._store.timers.tick(tag, 100)
                fired += count
                if sleep_ms > 0:
                    break
        return fired
