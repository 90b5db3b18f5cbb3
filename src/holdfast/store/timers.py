"""The timers of a partition."""

from __future__ import annotations

from holdfast.store.domain import Domain


class Timers(Domain):
    """Timers; they fire when a process ticks the partition."""

    async def tick(self, tag: str, limit: int) -> tuple[int, int]:
        """Fire due timers; returns how many fired and the ms until the next tick."""
        fired, sleep_ms = await self._call.write("hf_timer_tick", tag, str(limit))
        return fired, sleep_ms
