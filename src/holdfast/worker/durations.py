"""Durations as users write them: seconds, or timedelta."""

from __future__ import annotations

from datetime import timedelta

from holdfast.model import bounds, checks

Duration = float | timedelta

_LONGEST_S = bounds.DURATION_MS / 1000


def to_ms(field: str, value: Duration) -> int:
    """Return a duration in ms; raises InvalidInput."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    return round(checks.number(field, seconds, 0, _LONGEST_S) * 1000)


def optional_ms(field: str, value: Duration | None) -> int | None:
    """Return a duration in ms, or None."""
    return None if value is None else to_ms(field, value)
