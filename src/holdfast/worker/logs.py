"""The logger of an attempt: its lines name the attempt, and can be kept with the execution."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.model.executions import Claim
from holdfast.worker import tracebacks

#: Levels from which on a worker can keep lines.
LEVELS = ("debug", "info", "warning", "error")
#: Of one attempt; those that follow are in the log of the worker only.
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
    """Lines of an attempt that its stream takes along."""

    def __init__(self, level: str, put: Callable[[bytes], None]) -> None:
        self._least = logging.getLevelNamesMapping()[level.upper()]
        self._put = put
        self._count = 0

    def add(self, level: int, message: str, exc_info: Any) -> None:
        """Keep a line, unless it is beneath the level or one too many."""
        if level < self._least or self._count > MOST_LINES:
            return
        self._count += 1
        if self._count > MOST_LINES:
            message = f"further lines of this attempt are not kept, after {MOST_LINES}"
        line = {"level": logging.getLevelName(level).lower(), "message": message[:_LINE_CHARS]}
        error = sys.exc_info()[1] if exc_info is True else exc_info
        if isinstance(error, BaseException):
            line["traceback"] = tracebacks.text(error)[-_LINE_CHARS:]
        cleaned = {name: text.encode("utf-8", "replace").decode() for name, text in line.items()}
        self._put(msgspec.json.encode(cleaned))


class TaskLogger(logging.LoggerAdapter[logging.Logger]):
    """What `ctx.logger` is."""

    def __init__(self, claim: Claim, kept: KeptLines | None) -> None:
        super().__init__(logging.getLogger(f"holdfast.task.{claim.kind}"), fields(claim))
        self._kept = kept

    def log(self, level: int, msg: object, *args: Any, **kwargs: Any) -> None:
        """Log a line, and keep it with the execution if the worker does so."""
        # This frame is not where the line comes from.
        stacklevel = kwargs.pop("stacklevel", 1) + 1
        super().log(level, msg, *args, stacklevel=stacklevel, **kwargs)
        if self._kept is not None:
            self._kept.add(level, _message(msg, args), kwargs.get("exc_info"))


def _message(msg: object, args: tuple[Any, ...]) -> str:
    """Return the text of a line; logging itself tells of one that cannot be put together."""
    record = logging.LogRecord("", 0, "", 0, msg, args, None)
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - whatever the values of a line do
        return str(msg)
