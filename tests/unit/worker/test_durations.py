"""Durations as users write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.model import bounds
from holdfast.worker.durations import Duration, optional_ms, to_ms


@pytest.mark.parametrize(
    ("duration", "expected_ms"),
    [
        (0, 0),
        (1, 1_000),
        (0.25, 250),
        (0.0004, 0),
        (0.0006, 1),
        (timedelta(minutes=1), 60_000),
        ("2d", 172_800_000),
        ("1h 30m", 5_400_000),
        ("1.5s", 1_500),
        ("250ms", 250),
        ("1w", 604_800_000),
        (timedelta(days=366 * 100), bounds.DURATION_MS),
    ],
)
def test_seconds_and_timedeltas_become_milliseconds(duration: Duration, expected_ms: int) -> None:
    """Rounded to the nearest."""
    assert to_ms("delay", duration) == expected_ms
    assert optional_ms("delay", duration) == expected_ms


def test_no_duration_stays_none() -> None:
    """Absent is not zero."""
    assert optional_ms("delay", None) is None


@pytest.mark.parametrize(
    "duration",
    [
        -1,
        timedelta(seconds=-1),
        float("nan"),
        float("inf"),
        True,
        "5",
        "",
        "2 days",
        "-1s",
        "1d" * 40,
        None,
        1e12,
    ],
)
def test_anything_else_is_refused_by_field(duration: Any) -> None:
    """The error names the option that was wrong."""
    with pytest.raises(InvalidInput, match="delay: must be") as refused:
        to_ms("delay", duration)
    assert refused.value.context["field"] == "delay"
