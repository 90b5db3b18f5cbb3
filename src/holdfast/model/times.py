"""The clocks of a process: a monotonic clock, a wall clock, and a way to wait."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

#: Continues while the machine sleeps, if there is such a clock: a holder on a suspended machine
#: must not believe that no time has passed.
_RUNNING_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


class Times(Protocol):
    """The monotonic clock decides about authority; the wall clock is for people."""

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
