"""Waits of an attempt that lend its slot to others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from holdfast.concurrency import first_of
from holdfast.worker.outcomes import AttemptPaused
from holdfast.worker.slots import Slots

R = TypeVar("R")

#: A shorter sleep keeps its slot: returning the lease and claiming again costs more.
SHORTEST_PAUSE_MS = 1_000


class LentSlot:
    """The slot of one attempt, lent once for all its concurrent waits."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._waits = 0

    async def wait(self, work: Coroutine[Any, Any, R]) -> R:
        """Wait without holding the slot; if the worker stops, the attempt continues elsewhere."""
        with self._lent():
            result = asyncio.ensure_future(work)
            try:
                await first_of(result, self._slots.wait_closed())
                if not result.done():
                    raise AttemptPaused(SHORTEST_PAUSE_MS)
                return result.result()
            finally:
                result.cancel()

    @contextlib.contextmanager
    def _lent(self) -> Iterator[None]:
        self._waits += 1
        if self._waits == 1:
            self._slots.give_back()
        try:
            yield
        finally:
            # The last wait takes it back: until then the attempt still waits.
            self._waits -= 1
            if self._waits == 0:
                self._slots.take(1)
