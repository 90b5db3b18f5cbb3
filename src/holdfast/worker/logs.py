"""Log lines of an attempt: they name it, and its execution can keep them.

Two ways lead to the kept lines: `ctx.logger`, and a handler of the root logger for the records that
other loggers emit in the code of a task. A context variable names the attempt whose code runs.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import weakref
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Protocol

import msgspec

from holdfast.model import bounds
from holdfast.model.executions import Claim
from holdfast.model.log_lines import LEVELS, LINES, level_name
from holdfast.model.moments import to_ms
from holdfast.worker import tracebacks

#: The maximum for one attempt; further lines go only to the log of the worker.
MOST_LINES = 1_000
_LINE_CHARS = 4_000
_NAME_CHARS = 200

#: As many lines are sent before their time.
_MANY = 250
_FULL = f"the log of this attempt is full: lines after the first {MOST_LINES} are dropped"

_encode = msgspec.json.Encoder().encode


def fields(claim: Claim) -> dict[str, Any]:
    """Return the fields of a log record about an attempt."""
    return {
        "tenant": claim.tenant,
        "execution": claim.id,
        "kind": claim.kind,
        "attempt": claim.lease.attempt,
    }


class _Line(msgspec.Struct, omit_defaults=True, gc=False):
    """A line as it is stored."""

    at: int
    level: str
    message: str
    logger: str | None = None
    traceback: str | None = None


class Attempt(Protocol):
    """An attempt whose lines are kept."""

    def now(self) -> datetime:
        """Return the time on the store's clock."""

    def expect_lines(self, many: bool) -> None:  # noqa: FBT001 - there is nothing else to say
        """Take the lines soon: they begin to wait, or many wait."""


class KeptLines:
    """Log lines of an attempt on their way to its stream; any thread may add one."""

    def __init__(self, level: str, attempt: Attempt) -> None:
        #: The number of the lowest level to keep.
        self.least: int = LEVELS[level]
        # The attempt has these lines, and so has the asyncio task that it has. Keeping it would
        # leave all three to Python's search for garbage, once for each execution.
        self._attempt = weakref.ref(attempt)
        self._waiting: list[_Line] = []
        self._count = 0
        #: What the process's clock lacks to the store's; most attempts log nothing.
        self._ahead_ms = 0.0

    def start(self) -> None:
        """Keep the records of the code that the caller runs from now on; counts from zero."""
        self._count = 0
        _running.set(self)

    def add(self, record: logging.LogRecord, logger: str | None = None) -> None:
        """Keep a record, unless the maximum is reached or the attempt has ended."""
        # Written for speed: tasks that log a lot spend their time here.
        attempt = self._attempt()
        if attempt is None:
            return
        self._count = count = self._count + 1
        if count == 1:
            self._ahead_ms = to_ms(attempt.now()) - 1000 * time.time()
        elif count > MOST_LINES + 1:
            return
        fields = record.__dict__
        # A handler that formats records leaves the message there.
        message = fields.get("message") or _message(record)
        if count > MOST_LINES:
            message = _FULL
        elif len(message) > _LINE_CHARS:
            message = message[:_LINE_CHARS]
        line = _Line(
            int(self._ahead_ms + 1000 * fields["created"]),
            level_name(fields["levelno"]),
            message,
            logger,
        )
        if fields["exc_info"] and fields["exc_info"][1]:
            line.traceback = tracebacks.text(fields["exc_info"][1])[-_LINE_CHARS:]
        waiting = self._waiting
        waiting.append(line)
        if len(waiting) % _MANY == 1:
            attempt.expect_lines(len(waiting) > 1)

    def take(self) -> Iterator[bytes]:
        """Take the waiting lines, packed into few payloads: a frame costs more than a line."""
        # Other threads only add, at the end.
        count = len(self._waiting)
        lines = self._waiting[:count]
        del self._waiting[:count]
        return _packed(lines) if lines else iter(())


#: The lines of the attempt whose code runs.
_running: ContextVar[KeptLines | None] = ContextVar("holdfast_kept_lines", default=None)


class TaskLogger(logging.LoggerAdapter[logging.Logger]):
    """The logger at `ctx.logger`."""

    def __init__(self, claim: Claim, kept: KeptLines | None) -> None:
        super().__init__(logging.getLogger(f"holdfast.task.{claim.kind}"), fields(claim))
        self._kept = kept

    def log(self, level: int, msg: object, *args: Any, **kwargs: Any) -> None:
        """Log a line, and keep it with the execution if the worker is set to do so."""
        shown = self.logger.isEnabledFor(level)
        kept = self._kept if self._kept is not None and level >= self._kept.least else None
        if not shown and kept is None:
            return
        record = self._record(level, msg, args, **kwargs)
        if shown:
            self.logger.handle(record)
        if kept is not None:
            kept.add(record)

    def _record(
        self,
        level: int,
        msg: object,
        args: tuple[Any, ...],
        *,
        exc_info: Any = None,
        stack_info: bool = False,
        stacklevel: int = 1,
        extra: object = None,  # noqa: ARG002 - an adapter replaces it
    ) -> logging.LogRecord:
        """Make a record, as `logging.Logger` does."""
        # Skip two stack frames of this class when logging looks for the caller.
        place = self.logger.findCaller(stack_info, stacklevel + 2)
        file, line, function, stack = place
        return self.logger.makeRecord(
            *(self.logger.name, level, file, line, msg, args, _exception(exc_info)),
            func=function,
            extra=self.extra,
            sinfo=stack,
        )


class _Capture(logging.Handler):
    """Keeps the records of other loggers with the execution whose code emitted them."""

    def __init__(self) -> None:
        super().__init__()
        self.users = 0

    def handle(self, record: logging.LogRecord) -> bool:
        """Keep a record, unless it is about Holdfast itself or comes from `ctx.logger`.

        It needs no lock, which would cost more than the line.
        """
        if not record.name.startswith("holdfast."):
            kept = _running.get()
            if kept is not None and record.levelno >= kept.least:
                kept.add(record, record.name[:_NAME_CHARS])
        last = logging.lastResort
        if len(logging.root.handlers) == 1 and last and record.levelno >= last.level:
            # Without this handler, logging would not be configured and print warnings.
            last.handle(record)
        return True


_capture = _Capture()


@contextlib.contextmanager
def capturing() -> Iterator[None]:
    """Keep the records of all loggers that the code of attempts uses, while the block runs."""
    _capture.users += 1
    logging.root.addHandler(_capture)
    try:
        yield
    finally:
        _capture.users -= 1
        if _capture.users == 0:
            logging.root.removeHandler(_capture)


def _packed(lines: list[_Line]) -> Iterator[bytes]:
    """Yield payloads that hold these lines; the longest line, escaped, fits into one."""
    payload = _encoded(lines)
    if len(payload) <= bounds.FRAME_BYTES or len(lines) == 1:
        yield payload
    else:
        half = len(lines) // 2
        yield from _packed(lines[:half])
        yield from _packed(lines[half:])


def _message(record: logging.LogRecord) -> str:
    """Return the text of a line; logging itself reports one that cannot be formatted."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - formatting a line may raise anything
        return record.msg if isinstance(record.msg, str) else "a line that cannot be formatted"


def _exception(exc_info: Any) -> Any:
    """Return what the argument `exc_info` means to a record."""
    if isinstance(exc_info, BaseException):
        return type(exc_info), exc_info, exc_info.__traceback__
    return sys.exc_info() if exc_info and not isinstance(exc_info, tuple) else exc_info


def _encoded(lines: list[_Line]) -> bytes:
    try:
        return _encode({LINES: lines})
    except UnicodeEncodeError:
        for line in lines:
            for name in line.__struct_fields__:
                text = getattr(line, name)
                if isinstance(text, str):
                    setattr(line, name, text.encode("utf-8", "replace").decode())
        return _encode({LINES: lines})
