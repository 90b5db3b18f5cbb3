"""What a store's server says of itself: memory, calls of functions, their time, the longest."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from holdfast.engine import Engine

_FUNCTIONS = re.compile(r"cmdstat_fcall\w*:calls=(\d+),usec=(\d+)")
#: Calls that take at least this long are kept by the server.
_SLOW_US = 500


class Meter:
    """The counters of the one server of a store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def _info(self, section: str) -> str:
        return str((await self._engine.store.client.call(["INFO", section])).decode())

    async def used(self) -> int:
        """Return the bytes that the data takes."""
        (count,) = re.findall(r"used_memory_dataset:(\d+)", await self._info("memory"))
        return int(count)

    async def calls(self) -> int:
        """Return how many functions were called so far."""
        found = _FUNCTIONS.findall(await self._info("commandstats"))
        return sum(int(calls) for calls, _ in found)

    async def us(self) -> int:
        """Return the microseconds in functions so far."""
        found = _FUNCTIONS.findall(await self._info("commandstats"))
        return sum(int(us) for _, us in found)

    async def cpu(self) -> float:
        """Return the seconds of processor that the server has used."""
        found = re.findall(r"used_cpu_(?:sys|user):([\d.]+)", await self._info("cpu"))
        return sum(float(seconds) for seconds in found)

    async def cost(self, count: int, work: Callable[[], Awaitable[object]]) -> float:
        """Return the microseconds in functions that a piece of work took for each of its things."""
        before = await self.us()
        await work()
        return (await self.us() - before) / count

    async def longest(self, work: Callable[[], Awaitable[object]]) -> float:
        """Return the ms of the longest call that the server ran during a piece of work."""
        call = self._engine.store.client.call
        await call(["CONFIG", "SET", "slowlog-log-slower-than", str(_SLOW_US)])
        await call(["SLOWLOG", "RESET"])
        await work()
        rows = await call(["SLOWLOG", "GET", "-1"])
        return max((int(row[2]) / 1000 for row in rows), default=0.0)
