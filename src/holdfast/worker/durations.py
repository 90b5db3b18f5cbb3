"""Durations as users write them: seconds, timedelta, or text such as "2d"."""

from __future__ import annotations

import re
from datetime import timedelta

from holdfast.model import bounds, checks

Duration = float | timedelta | str

_LONGEST_S = bounds.DURATION_MS / 1000
_UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*")
_PARTS = re.compile(f"(?:{_PART.pattern})+")
_TEXT_CHARS = 64


def to_ms(field: str, value: Duration) -> int:
    """Return a duration in ms; raises InvalidInput."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    elif isinstance(value, str):
        value = _seconds(field, value)
    return round(checks.number(field, value, 0, _LONGEST_S) * 1000)


def optional_ms(field: str, value: Duration | None) -> int | None:
    """Return a duration in ms, or None."""
    return None if value is None else to_ms(field, value)


def _seconds(field: str, text: str) -> float:
    if len(text) > _TEXT_CHARS or _PARTS.fullmatch(text) is None:
        checks.refuse(field, "must be a duration such as 90, '30s', '2d' or '1h 30m'", text)
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(text))
