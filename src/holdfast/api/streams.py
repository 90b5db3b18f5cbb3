"""Streams: the output of an execution while it runs, and the document it keeps up to date."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from holdfast.model.executions import Lease
from holdfast.model.frames import (
    RETRY,
    Appended,
    Frame,
    FramePage,
    NewFrame,
    StreamSettings,
    Summary,
)


class Tail(ABC):
    """One reader of a stream, live: `async for frame in tail`, until the `end` frame.

    A reader that must make room, or whose process stops, gets a last frame `retry` instead; it
    can go on elsewhere after the frame that it saw last.
    """

    #: It has given its last frame, or was closed.
    done: bool

    @abstractmethod
    async def next(self, wait_s: float | None = None) -> Sequence[Frame]:
        """Return the next frames; none when the time is over or there are no more.

        Raises:
            ExecutionNotFound: it was removed meanwhile.
        """

    async def __aiter__(self) -> AsyncIterator[Frame]:
        try:
            while not self.done:
                for frame in await self.next():
                    yield frame
        finally:
            self.close()

    @abstractmethod
    def close(self) -> None:
        """Give its place to others."""


class Streams(ABC):
    """Operations on the streams of executions."""

    @abstractmethod
    async def append(
        self,
        execution_id: str,
        lease: Lease,
        frames: Sequence[NewFrame],
        *,
        key: str | None = None,
    ) -> Appended:
        """Append frames, all or none; only the holder of the lease may.

        Repeated with the same `key` within a minute, it gets its first answer. Frames of type
        `summary` are JSON merge patches and change the held document in the same call.
        """

    @abstractmethod
    async def read(self, execution_id: str, *, after: int = 0, limit: int = 100) -> FramePage:
        """Return frames after a number, of all attempts in order."""

    @abstractmethod
    async def summary(self, execution_id: str) -> Summary:
        """Return the held document and its version: {} and 0 at first."""

    @abstractmethod
    async def tail(self, execution_id: str, *, after: int = 0) -> Tail:
        """Read a stream live, after a frame; close the tail when you leave before its end.

        Raises:
            TooManyTails: the tenant of the execution reads as many as it may.
        """

    async def follow(self, execution_id: str, *, after: int = 0) -> AsyncGenerator[Frame]:
        """Read a stream live to its end, and go on where it was when a tail has to end before."""
        while True:
            tail = await self.tail(execution_id, after=after)
            try:
                async for frame in tail:
                    if frame.type == RETRY:
                        break
                    after = frame.id
                    yield frame
                else:
                    return
            finally:
                tail.close()
            await asyncio.sleep(frame.json()["after_ms"] / 1000)

    @abstractmethod
    async def set_bounds(
        self,
        *,
        tenant: str | None = None,
        frames: int | None = None,
        size: int | None = None,
        age_ms: int | None = None,
    ) -> None:
        """Set how much of each stream is kept; what is absent goes back to the default.

        The oldest frames go first, when the next ones are appended. Without a tenant it is for
        all that have no bounds of their own.
        """

    @abstractmethod
    async def set_tails(self, most: int | None, *, tenant: str | None = None) -> None:
        """Set how many tails a tenant may have in one process; None: the default."""

    @abstractmethod
    async def settings(self) -> dict[str | None, StreamSettings]:
        """Return what was set of bounds and tails, by tenant; None is all that have none."""
