"""The state of one stream that this process follows, shared by all its tails.

The store notifies the process when frames were appended or the execution has ended; the process
then reads once for all tails. A tail that is behind the buffered frames reads for itself.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from holdfast.errors import HoldfastError, NotFound
from holdfast.model.frames import END, Frame
from holdfast.outages import level
from holdfast.store.store import Store
from holdfast.store.streams import Followed

log: logging.Logger = logging.getLogger(__name__)

FRAMES_IN_READ = 500
#: The number of buffered frames, so that a slow tail does not have to read for itself.
MOST_HELD = 500
MOST_HELD_BYTES = 1 << 20


class FollowedStream:
    """The end of one stream. Make it with `FollowedStream.start`."""

    def __init__(self, store: Store, process: str, execution_id: str) -> None:
        self._store = store
        self._process = process
        self.execution_id = execution_id
        self.tenant: str = ""
        #: How many tails use it.
        self.users: int = 0
        #: The frame that ends the stream, once the execution has ended.
        self.end: Frame | None = None
        #: Why it cannot continue: the execution no longer exists.
        self.error: NotFound | None = None
        self._frames: list[Frame] = []
        self._bytes = 0
        #: Every stored frame after this number is buffered.
        self._floor = 0
        self._last = 0
        self._stale = False
        self._started = False
        self._reading: asyncio.Task[None] | None = None
        #: Set when there is more to read or the stream has ended.
        self.listeners: set[asyncio.Event] = set()

    async def start(self, after: int) -> None:
        """Start after a frame, or near the end of the stream if many frames follow it."""
        followed = await self._follow(after)
        self.tenant = followed.tenant
        if followed.page.more:
            self._floor = self._last = followed.last
            self._note_end(followed)
        else:
            self._floor = self._last = after
            self._take(followed)
        self._started = True
        if self._stale:
            self.nudge()

    def stop(self) -> None:
        """Stop reading."""
        if self._reading is not None:
            self._reading.cancel()

    def nudge(self) -> None:
        """Read new frames, unless a read is already under way."""
        self._stale = True
        done = self.end is not None or self.error is not None
        if self._started and self._reading is None and not done:
            self._reading = asyncio.get_running_loop().create_task(self._read_on())

    async def _read_on(self) -> None:
        try:
            while self._stale and self.end is None:
                self._stale = False
                found = await self._follow(self._last)
                self._stale = self._stale or found.page.more
                self._take(found)
        except NotFound as error:
            self.error = error
            self._tell()
        except HoldfastError as error:
            log.log(level(error), "reading a stream failed, trying again: %s", error)
        finally:
            self._reading = None

    async def _follow(self, after: int) -> Followed:
        return await self._store.streams.tail(
            self.execution_id, self._process, after, FRAMES_IN_READ
        )

    def _take(self, followed: Followed) -> None:
        frames = followed.page.frames
        if frames:
            self._last = frames[-1].id
            self._frames += frames
            self._bytes += sum(len(frame.payload) for frame in frames)
            self._drop_old()
        if not followed.page.more:
            self._note_end(followed)
        if frames or self.end is not None:
            self._tell()

    def _drop_old(self) -> None:
        count = 0
        while len(self._frames) - count > MOST_HELD or self._bytes > MOST_HELD_BYTES:
            self._bytes -= len(self._frames[count].payload)
            self._floor = self._frames[count].id
            count += 1
        del self._frames[:count]

    def _note_end(self, followed: Followed) -> None:
        if followed.ended_at is None:
            return
        outcome = {"state": followed.state, "error": followed.error, "reason": followed.reason}
        known = {name: value for name, value in outcome.items() if value is not None}
        self.end = Frame(
            id=followed.last,
            attempt=followed.attempt,
            type=END,
            payload=msgspec.json.encode(known),
            encoding=None,
            at=followed.ended_at,
        )

    def _tell(self) -> None:
        for listener in self.listeners:
            listener.set()

    async def after(self, position: int) -> tuple[Sequence[Frame], int]:
        """Return the frames after a position, if there are any yet, and the new position."""
        if position < self._floor:
            page = await self._store.streams.read(self.execution_id, position, FRAMES_IN_READ)
            if page.frames:
                return page.frames, page.frames[-1].id
            # These frames have been dropped in the meantime.
            position = self._floor
        start = bisect_right(self._frames, position, key=lambda frame: frame.id)
        frames = self._frames[start:]
        return frames, frames[-1].id if frames else position
