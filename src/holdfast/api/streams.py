"""Streams: the frames that an execution emits while it runs, and its held document."""

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
from holdfast.model.log_lines import LogPage


class Tail(ABC):
    """A live reader of a stream: `async for frame in tail`, until the `end` frame.

    A reader that must make room, or whose process stops, gets a last frame `retry` instead. It can
    continue elsewhere after the last frame that it received.
    """

    #: Whether it has returned its last frame or was closed.
    done: bool

    @abstractmethod
    async def next(self, wait_s: float | None = None) -> Sequence[Frame]:
        """Return the next frames; none if the time is over or the stream has ended.

        Raises:
            ExecutionNotFound: the execution was removed meanwhile.
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
        """Close the reader, which frees its place for others."""


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
        """Append frames, all or none. Only the holder of the lease can append.

        A call repeated with the same `key` within a minute gets the first answer again. Frames of
        type `summary` are JSON merge patches and change the held document in the same call.
        """

    @abstractmethod
    async def read(self, execution_id: str, *, after: int = 0, limit: int = 100) -> FramePage:
        """Return the frames after a frame id, of all attempts in order."""

    @abstractmethod
    async def logs(
        self,
        execution_id: str,
        *,
        level: str = "debug",
        limit: int = 100,
        cursor: str | None = None,
    ) -> LogPage:
        """Return the log lines of an execution from a level on, of all attempts in order.

        `cursor` is that of the page before, or the id of a line. One call looks through a bounded
        number of frames, so a page may be short and still have a next one.
        """

    @abstractmethod
    async def summary(self, execution_id: str) -> Summary:
        """Return the held document and its version; at first {} and 0."""

    @abstractmethod
    async def tail(self, execution_id: str, *, after: int = 0) -> Tail:
        """Read a stream live, after a frame. Close the tail if you stop before its end.

        Raises:
            TooManyTails: the tenant of the execution has reached its limit of readers.
        """

    async def follow(self, execution_id: str, *, after: int = 0) -> AsyncGenerator[Frame]:
        """Read a stream live to its end; if a tail ends early, continue where it was."""
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
        """Set how much of each stream is kept. Arguments that you omit return to the default.

        The oldest frames are removed first, at the next append. Without a tenant the bounds apply
        to all tenants that have none of their own.
        """

    @abstractmethod
    async def set_tails(self, most: int | None, *, tenant: str | None = None) -> None:
        """Set how many tails a tenant can have in one process; None restores the default."""

    @abstractmethod
    async def settings(self) -> dict[str | None, StreamSettings]:
        """Return the bounds that were set, by tenant; None stands for tenants without their own."""
