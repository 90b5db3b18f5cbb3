"""Limits for each caller on this server: calls per second, and calls that stay open."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Iterator

from holdfast.errors import RateLimited

_MOST_CALLERS = 10_000


class Rate:
    """A token bucket for each caller."""

    def __init__(self, per_second: int, what: str = "calls") -> None:
        self._what = what
        #: 0 means no limit. A burst may have twice as many calls.
        self._per_second = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, count: int = 1, *, per_second: int | None = None) -> None:
        """Count a call, or a call that does the work of several; raise RateLimited.

        An allowed call may take more tokens than the bucket has; later calls then wait longer. A
        caller may have a rate of its own.
        """
        rate = self._per_second if per_second is None else per_second
        if not rate:
            return
        now = asyncio.get_running_loop().time()
        burst = 2.0 * rate
        left, at = self._buckets.pop(caller, (burst, now))
        left = min(burst, left + (now - at) * rate)
        allowed = left >= 1
        self._buckets[caller] = (left - count if allowed else left, now)
        while len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        if not allowed:
            wait_ms = int((1 - left) / rate * 1000) + 1
            message = f"more than {rate} {self._what} a second"
            raise RateLimited(message, retry_after_ms=wait_ms, limit=rate)


class Open:
    """Counts the calls that stay open, for each caller."""

    def __init__(self, what: str, most: int) -> None:
        self._what = what
        self._most = most
        self._counts: Counter[str] = Counter()

    @contextlib.contextmanager
    def one(self, caller: str) -> Iterator[None]:
        """Count a call while it is open; raise RateLimited if too many are."""
        if self._counts[caller] >= self._most:
            message = f"{self._most} {self._what} are open already"
            raise RateLimited(message, retry_after_ms=1_000, limit=self._most)
        self._counts[caller] += 1
        try:
            yield
        finally:
            self._counts[caller] -= 1
            if not self._counts[caller]:
                del self._counts[caller]

    @property
    def total(self) -> int:
        """The number of open calls."""
        return self._counts.total()
