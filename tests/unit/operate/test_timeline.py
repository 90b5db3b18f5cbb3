"""Timelines of executions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.model.executions import Attempt, Step
from holdfast.model.states import AttemptKind
from holdfast.operate import timeline

START = datetime(2026, 1, 1, tzinfo=UTC)


def _at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def _attempt(index: int, start: float, end: float | None, outcome: str | None) -> Attempt:
    return Attempt(
        index=index,
        kind=AttemptKind.INITIAL,
        worker="w1",
        started_at=_at(start),
        ended_at=None if end is None else _at(end),
        outcome=outcome,
        error={"type": "Busy", "message": "later"} if outcome == "failed" else None,
    )


def test_a_timeline_ends_with_the_last_attempt() -> None:
    """Moments are shares of it, and steps are marks on it."""
    attempts = [_attempt(0, 1, 5, "failed"), _attempt(1, 8, 10, "completed")]
    steps = [Step(name="charge", at=_at(5), result=b"1")]
    line = timeline.of(attempts, START, _at(99), steps)
    assert (line.start, line.end) == (START, _at(10))
    assert [(line.share(bar.start), line.share(bar.end)) for bar in line.bars] == [
        (0.1, 0.5),
        (0.8, 1.0),
    ]
    assert [bar.outcome for bar in line.bars] == ["failed: Busy: later", "completed"]
    assert [(mark.step, line.share(mark.at)) for mark in line.marks] == [("charge", 0.5)]


def test_a_running_attempt_lasts_until_now() -> None:
    """Its outcome says so."""
    line = timeline.of([_attempt(0, 2, None, None)], START, _at(4))
    assert [(bar.outcome, line.share(bar.end)) for bar in line.bars] == [("running", 1.0)]


def test_shares_stay_between_0_and_1() -> None:
    """Clocks of the store and of this process may differ."""
    assert timeline.of([], START, START).share(_at(5)) == 0
    line = timeline.of([_attempt(0, -1, 2, "completed")], START, _at(9))
    assert (line.share(_at(-1)), line.share(_at(7))) == (0, 1)
