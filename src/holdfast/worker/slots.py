"""The slots of a worker: how many executions it runs at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator


class Slots:
    """Counts free slots; a waiting task may lend its slot to others."""

    def __init__(self, count: int) -> None:
        self.count: int = count
        self.free: int = count
        self._reserved = 0
        self._settling = 0
        self._freed = asyncio.Event()
        self._closed = asyncio.Event()

    @property
    def busy(self) -> int:
        """Slots in use."""
        return self.count - self.free

    def take(self, count: int) -> None:
        """Take free slots, or take a lent one back.

        For a moment one slot too many may be in use: waiting for one here could block for ever.
        """
        self.free -= count

    def give_back(self) -> None:
        """Return a slot."""
        self.free += 1
        self._freed.set()

    def settle(self) -> bool:
        """Lend the slot of code that has ended, until its outcome is recorded.

        Returns whether it is lent: outcomes on their way are at most as many as slots, in case the
        store is slow.
        """
        if self._settling >= self.count:
            return False
        self._settling += 1
        self.give_back()
        return True

    def settled(self) -> None:
        """Take a slot back that was lent for an outcome."""
        self._settling -= 1
        self.take(1)

    @contextlib.contextmanager
    def reserved(self, most: int) -> Iterator[int]:
        """Reserve up to `most` free slots for the result of a claim; yields how many."""
        count = min(self.free - self._reserved, most)
        self._reserved += count
        try:
            yield count
        finally:
            self._reserved -= count
            self._freed.set()

    async def wait_free(self) -> None:
        """Wait until a slot is free, or the slots are closed."""
        while self.free <= self._reserved and not self._closed.is_set():
            self._freed.clear()
            await self._freed.wait()

    def close(self) -> None:
        """End all waits for slots."""
        self._closed.set()
        self._freed.set()

    async def wait_closed(self) -> None:
        """Wait until the slots are closed, because the worker stops."""
        await self._closed.wait()
