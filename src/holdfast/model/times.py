"""The clocks of a process: one that only runs, one that people read, and a way to wait."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

#: Runs on while the machine sleeps, where there is such a clock: a holder that was suspended must
#: not believe that no time has passed.
_RUNNING_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


class Times(Protocol):
    """What decides about authority (monotonic) and what is written for people (wall)."""

    def monotonic_ms(self) -> float:
        """Return ms on a clock that never steps."""
        ...

    def wall_ms(self) -> int:
        """Return ms since 1970, as well as this machine knows."""
        ...

    async def sleep(self, ms: float) -> None:
        """Wait."""
        ...


class SystemTimes:
    """The clocks of this machine."""

    def monotonic_ms(self) -> float:
        """Return ms on a clock that never steps."""
        if _RUNNING_CLOCK is None:
            return time.monotonic() * 1000
        return time.clock_gettime(_RUNNING_CLOCK) * 1000

    def wall_ms(self) -> int:
        """Return ms since 1970."""
        return time.time_ns() // 1_000_000

    async def sleep(self, ms: float) -> None:
        """Wait."""
        await asyncio.sleep(ms / 1000)
