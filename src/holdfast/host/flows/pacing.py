"""Pacing: flows that compute for long rest between nodes while other tenants are at work.

All flows of a host share one event loop. Most compute for less than a millisecond between two waits
and are never held up. One that computes longer rests in proportion, and only one of its tenant runs
at a time, so that the turns of others find the loop free most of the time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")

#: What a flow may compute without a rest.
BURST_S = 0.005
#: How much longer than it computed a flow rests; so a tenant's flows take up a fifth of the loop.
REST = 4.0
#: A tenant whose turn began this recently is at work.
ACTIVE_S = 1.0


class Meter:
    """How long a coroutine has computed since its last rest."""

    def __init__(self) -> None:
        self._before_s = 0.0
        #: When the coroutine went on after its last wait; None while it waits.
        self._since: float | None = None

    @property
    def spent_s(self) -> float:
        """The time so far, also that of a coroutine which has not waited yet."""
        now = time.perf_counter()
        return self._before_s + (0.0 if self._since is None else now - self._since)

    def reset(self) -> None:
        """Begin again after a rest."""
        self._before_s = 0.0
        if self._since is not None:
            self._since = time.perf_counter()

    def go(self) -> None:
        """Note that the coroutine computes."""
        self._since = time.perf_counter()

    def halt(self) -> None:
        """Note that the coroutine waits."""
        self._before_s, self._since = self.spent_s, None

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and measure the time between its waits."""
        result: T = await _Measured(self, coroutine)
        return result


class _Measured:
    def __init__(self, meter: Meter, coroutine: Coroutine[Any, Any, T]) -> None:
        self._meter = meter
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        step, given = self._coroutine.send, None
        while True:
            self._meter.go()
            try:
                awaited = step(given)
            except StopIteration as ended:
                return ended.value
            finally:
                self._meter.halt()
            try:
                given = yield awaited
                step = self._coroutine.send
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's
                given, step = error, self._coroutine.throw


class Pace:
    """The pace of the flows of a process."""

    def __init__(self) -> None:
        self._lanes: dict[str, asyncio.Lock] = {}
        #: When the last turn of each tenant began.
        self._active: dict[str, float] = {}

    def begin(self, tenant: str) -> None:
        """Note that a turn of a tenant begins."""
        self._active[tenant] = time.monotonic()

    async def rest(self, tenant: str, meter: Meter) -> None:
        """Rest if the flow has computed for long; returns at once otherwise."""
        spent_s = meter.spent_s
        if spent_s < BURST_S:
            return
        lane = self._lanes.setdefault(tenant, asyncio.Lock())
        async with lane:
            await asyncio.sleep(spent_s * REST if self._has_others(tenant) else 0)
        meter.reset()

    def _has_others(self, tenant: str) -> bool:
        since = time.monotonic() - ACTIVE_S
        self._active = {name: at for name, at in self._active.items() if at > since}
        return any(name != tenant for name in self._active)
