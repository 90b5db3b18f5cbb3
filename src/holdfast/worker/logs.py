"""The logger of an attempt: its lines name the attempt, and the execution can keep them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.model.executions import Claim
from holdfast.worker import tracebacks

#: The minimum levels that a worker can be set to keep.
LEVELS = ("debug", "info", "warning", "error")
#: The maximum for one attempt; further lines go only to the log of the worker.
MOST_LINES = 1_000
_LINE_CHARS = 4_000


def fields(claim: Claim) -> dict[str, Any]:
    """Return the fields of a log record about an attempt."""
    return {
        "tenant": claim.tenant,
        "execution": claim.id,
        "kind": claim.kind,
        "attempt": claim.lease.attempt,
    }


class KeptLines:
    """Log lines of an attempt that its stream keeps."""

    def __init__(self, level: str, put: Callable[[bytes], None]) -> None:
        self._least = logging.getLevelNamesMapping()[level.upper()]
        self._put = put
        self._count = 0

    def add(self, level: int, message: str, exc_info: Any) -> None:
        """Keep a line, unless it is below the level or the maximum is reached."""
        if level < self._least or self._count > MOST_LINES:
            return
        self._count += 1
        if self._count > MOST_LINES:
            message = (
                f"the log of this attempt is full: lines after the first {MOST_LINES} are dropped"
            )
        line = {"level": logging.getLevelName(level).lower(), "message": message[:_LINE_CHARS]}
        error = sys.exc_info()[1] if exc_info is True else exc_info
        if isinstance(error, BaseException):
            line["traceback"] = tracebacks.text(error)[-_LINE_CHARS:]
        cleaned = {name: text.encode("utf-8", "replace").decode() for name, text in line.items()}
        self._put(msgspec.json.encode(cleaned))


class TaskLogger(logging.LoggerAdapter[logging.Logger]):
    """The logger at `ctx.logger`."""

    def __init__(self, claim: Claim, kept: KeptLines | None) -> None:
        super().__init__(logging.getLogger(f"holdfast.task.{claim.kind}"), fields(claim))
        self._kept = kept

    def log(self, level: int, msg: object, *args: Any, **kwargs: Any) -> None:
        """Log a line, and keep it with the execution if the worker is set to do so."""
        # Skip this stack frame when logging looks for the caller.
        stacklevel = kwargs.pop("stacklevel", 1) + 1
        super().log(level, msg, *args, stacklevel=stacklevel, **kwargs)
        if self._kept is not None:
            self._kept.add(level, _message(msg, args), kwargs.get("exc_info"))


def _message(msg: object, args: tuple[Any, ...]) -> str:
    """Return the text of a line; logging itself reports a line that cannot be formatted."""
    record = logging.LogRecord("", 0, "", 0, msg, args, None)
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - formatting a line may raise anything
        return str(msg)
