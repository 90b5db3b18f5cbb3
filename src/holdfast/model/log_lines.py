"""Log lines of executions, which are kept in `log` frames of their streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from holdfast.model import bounds, checks
from holdfast.model.frames import Frame
from holdfast.model.moments import from_ms

#: The levels, lowest first, with the numbers that Python's logging gives them.
LEVELS: Mapping[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_DEFAULT = "info"
#: The member of a `log` frame that holds several lines; other `log` frames are one line each.
LINES = "lines"
_ID = re.compile(r"[0-9]{1,16}\.[0-9]{1,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line that a task logged."""

    #: The frame and the number of the line in it. Lists continue after it.
    id: str
    at: datetime
    attempt: int
    #: One of `LEVELS`.
    level: str
    message: str
    #: The name of the logger; None for `ctx.logger` and `ctx.stream.log`.
    logger: str | None = None
    traceback: str | None = None
    #: Further fields of `ctx.stream.log`.
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Log lines of all attempts, in order."""

    lines: tuple[LogLine, ...]
    #: Where the next page starts, or None at the end. A page may be short and have a next one.
    next_cursor: str | None


@cache
def level_name(number: int) -> str:
    """Return the highest level that a number of Python's logging reaches."""
    names = [name for name, least in LEVELS.items() if least <= number]
    return names[-1] if names else "debug"


def check_level(level: str) -> str:
    """Check a level."""
    return checks.one_of("level", level, LEVELS)


def position(cursor: str | None) -> tuple[int, int]:
    """Return the frame and the line of a cursor, or of the id of a line; checked."""
    if cursor is None:
        return 0, 0
    if not isinstance(cursor, str) or not _ID.fullmatch(cursor):
        checks.refuse("cursor", "is not the id of a log line", cursor)
    frame, line = map(int, cursor.split("."))
    return checks.integer("cursor", frame, 0, bounds.FRAME_ID), line


def lines_of(frames: Iterable[Frame], level: str = "debug") -> Iterator[LogLine]:
    """Yield the lines of `log` frames that have at least a level; other frames have none."""
    least = LEVELS[level]
    for frame in frames:
        if frame.type != "log" or frame.encoding not in (None, "utf8"):
            continue
        content = frame.json()
        packed = content.get(LINES) if isinstance(content, dict) else None
        rows = packed if isinstance(packed, list) else [content]
        for number, row in enumerate(rows, 1):
            line = _line(frame, number, row)
            if LEVELS[line.level] >= least:
                yield line


def _line(frame: Frame, number: int, row: Any) -> LogLine:
    """Return a line; any worker may have written it, so nothing about it is certain."""
    facts: dict[str, Any] = dict(row) if isinstance(row, dict) else {"message": row}
    level = facts.pop("level", _DEFAULT)
    at, logger, traceback = (facts.pop(name, None) for name in ("at", "logger", "traceback"))
    return LogLine(
        id=f"{frame.id}.{number}",
        at=_moment(at) or frame.at,
        attempt=frame.attempt,
        level=level if isinstance(level, str) and level in LEVELS else _DEFAULT,
        message=str(facts.pop("message", "")),
        logger=logger if isinstance(logger, str) else None,
        traceback=traceback if isinstance(traceback, str) else None,
        fields=facts,
    )


def _moment(ms: Any) -> datetime | None:
    if not isinstance(ms, int):
        return None
    try:
        return from_ms(ms)
    except (OverflowError, OSError, ValueError):
        return None
