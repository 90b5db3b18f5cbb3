"""Times: milliseconds on the store's clock, aware datetimes in Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def from_ms(ms: int) -> datetime:
    """Return the moment of a millisecond stamp, exactly."""
    return _EPOCH + timedelta(milliseconds=ms)


def to_ms(moment: datetime) -> int:
    """Return the millisecond stamp of a moment."""
    return (moment - _EPOCH) // _MILLISECOND


def span(seconds: float) -> str:
    """Return a duration in readable form, with at most two units."""
    if round(seconds * 1000) < 0:
        return f"-{span(-seconds)}"
    if seconds < 1:
        return f"{round(abs(seconds) * 1000)} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"
