"""Times: milliseconds on the store's clock, aware datetimes in Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def from_ms(ms: int) -> datetime:
    """Return the moment of a millisecond stamp, exactly."""
    return _EPOCH + timedelta(milliseconds=ms)


def to_ms(moment: datetime) -> int:
    """Return the millisecond stamp of a moment."""
    return (moment - _EPOCH) // _MILLISECOND
