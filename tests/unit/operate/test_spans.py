"""Spans of an execution on an axis that folds idle time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.operate import axis

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return a time."""
    return START + timedelta(seconds=seconds)


def test_a_month_of_sleep_leaves_the_work_most_of_the_axis() -> None:
    """Two seconds of work around thirty days of sleep take more than 60 %."""
    month = 30 * 86_400.0
    busy = [(at(1), at(2)), (at(month), at(month + 1))]
    found = axis.fold(START, at(month + 1), busy)
    work = sum(found.place(end) - found.place(start) for start, end in busy)
    assert work >= 0.6
    assert [part.folded for part in found.parts] == [True, False, True, False]


def test_short_waits_are_drawn_to_scale() -> None:
    """Nothing is folded that leaves the work room enough."""
    found = axis.fold(START, at(10), [(at(1), at(9.5))])
    assert not any(part.folded for part in found.parts)
    assert found.place(at(5)) == pytest.approx(0.5)


def test_time_without_work_is_linear() -> None:
    """An execution that has never run only waits."""
    found = axis.fold(START, at(100), [])
    assert [part.folded for part in found.parts] == [False]
    assert (found.place(START), found.place(at(25)), found.place(at(200))) == (0.0, 0.25, 1.0)


INTERVALS = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(0.001, 1e5)).map(lambda one: (at(one[0]), at(sum(one)))),
    max_size=12,
)


@given(busy=INTERVALS)
@settings(deadline=None)
def test_an_axis_is_in_order_whole_and_mostly_work(
    busy: list[tuple[datetime, datetime]],
) -> None:
    """Parts touch, from 0 to 1; later is never further left; work has at least 60 %."""
    until = at(2e6)
    found = axis.fold(START, until, busy)
    assert found.parts[0].since == START
    assert found.parts[-1].until == until
    assert found.parts[-1].end == pytest.approx(1.0)
    for one, other in pairwise(found.parts):
        assert (one.until, one.end) == (other.since, other.start)
    moments = sorted(moment for interval in busy for moment in interval)
    places = [found.place(moment) for moment in moments]
    assert places == sorted(places)
    if busy:
        work = sum(p.end - p.start for p in found.parts if any(a <= p.since < b for a, b in busy))
        assert work >= 0.6
