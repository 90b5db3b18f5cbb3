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
        self._freed = asyncio.Event()
        self._closed = asyncio.Event()

    @property
    def busy(self) -> int:
        """Slots in use."""
        return self.count - self.free

    def take(self, count: int) -> None:
        """Take slots that are free, or take a lent one back.

        That may make one too many for a moment: waiting for a slot then could wait for ever.
        """
        self.free -= count

    def give_back(self) -> None:
        """Return a slot."""
        self.free += 1
        self._freed.set()

    @contextlib.contextmanager
    def reserved(self, most: int) -> Iterator[int]:
        """Keep free slots, up to `most`, for what a claim may bring; yields how many."""
        count = min(self.free - self._reserved, most)
        self._reserved += count
        try:
            yield count
        finally:
            self._reserved -= count
            self._freed.set()

    async def wait_free(self) -> None:
        """Wait until there is a free slot, or nobody needs one any more."""
        while self.free <= self._reserved and not self._closed.is_set():
            self._freed.clear()
            await self._freed.wait()

    def close(self) -> None:
        """Let nobody wait for a slot any more."""
        self._closed.set()
        self._freed.set()

    async def wait_closed(self) -> None:
        """Wait until nobody needs slots any more: the worker stops."""
        await self._closed.wait()
