"""The timers of a partition."""

from __future__ import annotations

from holdfast.store.domain import Domain


class Timers(Domain):
    """Timers, which fire when somebody looks."""

    async def tick(self, tag: str, limit: int) -> tuple[int, int]:
        """Fire what is due; returns how many fired and ms until the next look."""
        fired, sleep_ms = await self._call.write("hf_timer_tick", tag, str(limit))
        return fired, sleep_ms
