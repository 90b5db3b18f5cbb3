"""Times and durations as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.model.moments import span

__all__ = ["ago", "between", "left", "span", "stamp"]

_SECOND, _MINUTE, _HOUR, _DAY = 1, 60, 3_600, 86_400
_UNITS = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (_SECOND, "s"))


def between(start: datetime, end: datetime) -> str:
    """Return how long it took from one moment to another."""
    return span((end - start) / timedelta(seconds=1))


def ago(moment: datetime | None) -> str | None:
    """Return how long ago a moment was, or in how long it will be."""
    if moment is None:
        return None
    seconds = (datetime.now(UTC) - moment) / timedelta(seconds=1)
    return f"in {_rough(-seconds)}" if seconds < 0 else f"{_rough(seconds)} ago"


def left(moment: datetime) -> str:
    """Return how much time is left until a moment."""
    seconds = (moment - datetime.now(UTC)) / timedelta(seconds=1)
    return f"{_rough(seconds)} left" if seconds >= 1 else "due now"


def _rough(seconds: float) -> str:
    """Return a duration in one unit."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= size or size == _SECOND)
    return f"{int(seconds // size)} {unit}"


def stamp(moment: datetime | None) -> str | None:
    """Return a moment in local time, to the millisecond."""
    if moment is None:
        return None
    return moment.astimezone().isoformat(" ", "milliseconds")
