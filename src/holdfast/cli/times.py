"""Times and durations as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_SECOND, _MINUTE, _HOUR, _DAY = 1, 60, 3_600, 86_400
_UNITS = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (_SECOND, "s"))


def span(seconds: float) -> str:
    """Return a duration in at most two units."""
    if seconds < 0:
        return f"-{span(-seconds)}"
    if seconds < _SECOND:
        return f"{round(seconds * 1000)} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def between(start: datetime, end: datetime) -> str:
    """Return how long it took from one moment to another."""
    return span((end - start) / timedelta(seconds=1))


def ago(moment: datetime | None) -> str | None:
    """Return how long ago a moment was, or in how long it will be."""
    if moment is None:
        return None
    seconds = (datetime.now(UTC) - moment) / timedelta(seconds=1)
    return f"in {_rough(-seconds)}" if seconds < 0 else f"{_rough(seconds)} ago"


def _rough(seconds: float) -> str:
    """Return a duration in one unit."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= size or size == _SECOND)
    return f"{int(seconds // size)} {unit}"


def stamp(moment: datetime | None) -> str | None:
    """Return a moment in local time, to the millisecond."""
    if moment is None:
        return None
    return moment.astimezone().isoformat(" ", "milliseconds")
