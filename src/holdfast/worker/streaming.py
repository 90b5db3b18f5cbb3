"""The stream of a running task: `await ctx.stream.text("...")`.

Frames are collected for some ms and appended as one batch, so a task may stream word by word. They
are in the store before the attempt ends, pauses, or records a step.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from typing import Any, Protocol

from holdfast.api import Engine
from holdfast.errors import HoldfastError, InvalidInput, LeaseLost
from holdfast.model.executions import Claim
from holdfast.model.frames import FrameType, NewFrame
from holdfast.model.ids import new_id
from holdfast.outages import level
from holdfast.worker import logs
from holdfast.worker.encoding import Encoding
from holdfast.worker.outcomes import AttemptLost

log: logging.Logger = logging.getLogger(__name__)

#: The builtin type, which has the name of a method here.
Payload = bytes

#: How long a frame may wait for others.
GATHER_S = 0.005
#: How long a log line may wait: people who read live wait for words, not for log lines.
NOTED_S = 0.5
_MOST_GATHERED = 250
_MOST_GATHERED_BYTES = 512 << 10
_MOST_LAST_BYTES = 64 << 10
#: Places that each start of a continued execution has for itself.
_PLACES_BETWEEN = 1 << 32

_JSON = Encoding("frame", Any)

#: Whether a step is running: an attempt that continues does not repeat its frames.
_in_step: ContextVar[bool] = ContextVar("holdfast_in_step", default=False)


class InsideStep:
    """Marks the code in the block as part of a step."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _in_step.set(True)

    def __exit__(self, *_: object) -> None:
        _in_step.reset(self._token)


def is_inside_step() -> bool:
    """Whether the code that runs belongs to a step."""
    return _in_step.get()


class Attempt(Protocol):
    """The parts of an attempt that its stream needs."""

    lost: bool
    lines: logs.KeptLines | None

    @property
    def claim(self) -> Claim:
        """The claim."""
        ...

    def check(self) -> None:
        """Raise if the lease is lost."""
        ...

    def lose(self) -> None:
        """Record that the lease was lost."""
        ...


class Stream:
    """The stream of a running attempt."""

    def __init__(self, engine: Engine, attempt: Attempt) -> None:
        self._engine = engine
        self._attempt = attempt
        self._gathered: list[NewFrame] = []
        self._bytes = 0
        #: A batch that may already be in the store: it is sent again under the same key.
        self._sent: tuple[str, list[NewFrame]] | None = None
        self._sending = asyncio.Lock()
        self._planned: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        # A start with an empty journal says new frames, in the same attempt.
        self._place = attempt.claim.continued * _PLACES_BETWEEN

    async def text(self, text: str, *, live: bool = False) -> None:
        """Stream text, such as the words of an answer. `live`: kept for some seconds only."""
        await self._put("text", _utf8(text), live=live)

    async def json(self, value: Any, *, live: bool = False) -> None:
        """Stream a value."""
        await self._put("json", _JSON.encode(value), live=live)

    async def bytes(self, data: bytes, *, live: bool = False) -> None:
        """Stream bytes, as they are."""
        await self._put("bytes", data, live=live)

    async def log(self, message: str, *, level: str = "info", **fields: Any) -> None:
        """Stream a line of a log."""
        line = {**fields, "level": level, "message": message}
        await self._put("log", _JSON.encode(line))

    def expect_lines(self, *, many: bool) -> None:
        """Plan to send the log lines that wait; the next flush includes them.

        They have no position among the task's frames: an attempt that continues may log other
        lines.
        """
        if self._attempt.lost:
            return
        if many:
            self._unplan()
            self._start_flush()
        elif self._planned is None:
            self._planned = asyncio.get_running_loop().call_later(NOTED_S, self._start_flush)

    def _take_lines(self) -> None:
        """Buffer the log lines that wait."""
        if self._attempt.lines is not None:
            for payload in self._attempt.lines.take():
                self._gather(NewFrame.of_lines(payload))

    def _gather(self, frame: NewFrame) -> None:
        self._gathered.append(frame)
        self._bytes += len(frame.payload)

    async def event(self, name: str, data: Any = None, *, live: bool = False) -> None:
        """Stream something that happened."""
        await self._put("event", _JSON.encode({"name": name, "data": data}), live=live)

    async def reply(self, number: int, text: str, start: int, *, markdown: bool = False) -> None:
        """Stream a part of a reply; `start` is where in the reply it begins.

        It has no place: a run that continues may say other words, and begins the reply again.
        """
        part: dict[str, Any] = {"number": number, "start": start, "text": text}
        if markdown:
            part["markdown"] = True
        await self._put("reply", _JSON.encode(part), placed=False)

    async def summary(self, patch: Mapping[str, Any]) -> None:
        """Merge a patch into the held document: None deletes, lists are replaced whole."""
        await self.flush()
        await self._put("summary", _JSON.encode(dict(patch)))
        await self.flush()

    async def last_frames(self) -> list[NewFrame]:
        """Return what is left to store with the end of the attempt, if it is little."""
        self._unplan()
        self._take_lines()
        is_plain = all(frame.type != "summary" for frame in self._gathered)
        if self._sending.locked() or self._sent or self._bytes > _MOST_LAST_BYTES or not is_plain:
            await self.flush()
        last, self._gathered, self._bytes = self._gathered, [], 0
        return last

    async def flush(self) -> None:
        """Wait until all frames are in the store."""
        self._unplan()
        self._take_lines()
        async with self._sending:
            while (self._sent or self._gathered) and not self._attempt.lost:
                if self._sent is None:
                    self._sent = new_id(), self._batch()
                await self._send(*self._sent)
                self._sent = None

    def _batch(self) -> list[NewFrame]:
        """Take the next frames to send off the buffer."""
        count, size = 0, 0
        for frame in self._gathered[:_MOST_GATHERED]:
            size += len(frame.payload)
            if count and size > _MOST_GATHERED_BYTES:
                size -= len(frame.payload)
                break
            count += 1
        batch, self._gathered = self._gathered[:count], self._gathered[count:]
        self._bytes -= size
        return batch

    async def _send(self, key: str, frames: list[NewFrame]) -> None:
        claim = self._attempt.claim
        try:
            await self._engine.streams.append(claim.id, claim.lease, frames, key=key)
        except LeaseLost as error:
            self._attempt.lose()
            raise AttemptLost(str(error)) from error
        except InvalidInput:
            # For example a document that has become too large: sending it again would not help.
            self._sent = None
            raise

    async def _put(
        self, kind: FrameType, payload: Payload, *, live: bool = False, placed: bool = True
    ) -> None:
        self._attempt.check()
        place = None
        if placed and not _in_step.get():
            self._place += 1
            place = self._place
        self._take_lines()
        self._gather(NewFrame(type=kind, payload=payload, live=live, place=place))
        if len(self._gathered) >= _MOST_GATHERED or self._bytes >= _MOST_GATHERED_BYTES:
            await self.flush()
        elif self._planned is None:
            self._planned = asyncio.get_running_loop().call_later(GATHER_S, self._start_flush)

    def _unplan(self) -> None:
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None

    def _start_flush(self) -> None:
        self._planned = None
        self._flushing = asyncio.ensure_future(self._flush_quietly())

    async def _flush_quietly(self) -> None:
        """Append the buffered frames; if that fails, the next call tries again."""
        try:
            await self.flush()
        except AttemptLost:
            pass
        except HoldfastError as error:
            fields = logs.fields(self._attempt.claim)
            log.log(level(error), "buffered frames wait for the store: %s", error, extra=fields)


class SyncStream:
    """The stream of a task in a thread: it blocks where Stream awaits."""

    def __init__(self, stream: Stream, wait: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._stream = stream
        self._wait = wait

    def text(self, text: str, *, live: bool = False) -> None:
        """Stream text, such as the words of an answer. `live`: kept for some seconds only."""
        self._wait(self._stream.text(text, live=live))

    def json(self, value: Any, *, live: bool = False) -> None:
        """Stream a value."""
        self._wait(self._stream.json(value, live=live))

    def bytes(self, data: bytes, *, live: bool = False) -> None:
        """Stream bytes, as they are."""
        self._wait(self._stream.bytes(data, live=live))

    def log(self, message: str, *, level: str = "info", **fields: Any) -> None:
        """Stream a line of a log."""
        self._wait(self._stream.log(message, level=level, **fields))

    def event(self, name: str, data: Any = None, *, live: bool = False) -> None:
        """Stream something that happened."""
        self._wait(self._stream.event(name, data, live=live))

    def summary(self, patch: Mapping[str, Any]) -> None:
        """Merge a patch into the held document: None deletes, lists are replaced whole."""
        self._wait(self._stream.summary(patch))

    def flush(self) -> None:
        """Wait until all frames are in the store."""
        self._wait(self._stream.flush())


def _utf8(text: str) -> bytes:
    if not isinstance(text, str):
        raise InvalidInput("text: must be a string", field="text")
    return text.encode("utf-8", "replace")
