"""One call of WASM code, as the functions that the code imports see it.

A call runs in one thread from beginning to end, so its functions find it there. They never raise:
wasmtime keeps an exception of a function where another thread may find it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from dataclasses import dataclass, field

from holdfast.host.components.limits import Limits
from holdfast.host.components.services import Requests

_LATE = b'{"error":{"code":"component_timeout","message":"the time is over","retryable":true}}'
#: How much of the error output is kept.
ERRORS_BYTES = 4_096


@dataclass(slots=True, kw_only=True)
class Call:
    """What one call has, and what it has produced so far."""

    operation: str
    #: The operation, the input and the facts about the call, in JSON.
    envelope: bytes
    #: The input alone.
    input: bytes
    limits: Limits
    timeout_ms: int
    requests: Requests
    loop: asyncio.AbstractEventLoop
    #: Set when no call may continue.
    stopping: threading.Event
    #: No caller waits for the outcome any more.
    is_abandoned: bool = False
    deadline: float = 0.0
    #: How much of the envelope was read.
    position: int = 0
    output: bytearray = field(default_factory=bytearray)
    #: The end of what the code wrote to its error output.
    errors: bytearray = field(default_factory=bytearray)
    is_too_large: bool = False
    #: The answer to the last request, until the code takes it.
    answer: bytes = b""

    def start(self) -> None:
        """Begin: time counts from here."""
        self.deadline = time.monotonic() + self.timeout_ms / 1000

    @property
    def has_started(self) -> bool:
        """Whether a thread has begun with it."""
        return self.deadline > 0

    @property
    def left_s(self) -> float:
        """How much time is left."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.deadline

    def read(self, size: int) -> bytes:
        """Return the next part of the envelope, at most this many bytes."""
        data = self.envelope[self.position : self.position + size]
        self.position += len(data)
        return data

    def has_room(self, size: int) -> bool:
        """Return whether more output is within the limit; if it is not, the call has failed."""
        self.is_too_large |= len(self.output) + size > self.limits.output_bytes
        return not self.is_too_large

    def write(self, data: bytes, *, is_error: bool) -> None:
        """Add to the output, or to the error output, of which the end is kept."""
        if is_error:
            self.errors += data
            del self.errors[:-ERRORS_BYTES]
        else:
            self.output += data

    def ask(self, request: bytes) -> bytes:
        """Return the host's answer to a request; the event loop works on it meanwhile."""
        answering = self.requests.answer(request)
        try:
            future = asyncio.run_coroutine_threadsafe(answering, self.loop)
        except RuntimeError:
            answering.close()  # The event loop has ended.
            return _LATE
        try:
            return future.result(self.left_s)
        except (TimeoutError, concurrent.futures.CancelledError):
            future.cancel()
            return _LATE


_current = threading.local()


def current() -> Call:
    """Return the call of this thread."""
    call: Call = _current.call
    return call


def enter(call: Call | None) -> None:
    """Set or clear the call of this thread."""
    _current.call = call
