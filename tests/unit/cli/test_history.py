"""Histories and attempts as people see them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.cli import history as events
from holdfast.cli import timeline
from holdfast.model.executions import Attempt, Event
from holdfast.model.states import AttemptKind
from holdfast.operate.timeline import of

START = datetime(2026, 1, 1, tzinfo=UTC)


def _event(seconds: float, name: str, **data: object) -> Event:
    return Event(at=START + timedelta(seconds=seconds), event=name, data=data)


def _attempt(index: int, start: float, end: float | None, outcome: str | None) -> Attempt:
    return Attempt(
        index=index,
        kind=AttemptKind.INITIAL,
        worker="w1",
        started_at=START + timedelta(seconds=start),
        ended_at=None if end is None else START + timedelta(seconds=end),
        outcome=outcome,
        error={"type": "Busy", "message": "later"} if outcome == "failed" else None,
    )


def test_only_news_follow() -> None:
    """Each event is shown once, in order."""
    first, second, third = _event(0, "created"), _event(1, "claimed"), _event(2, "completed")
    assert events.news([first, second], None) == [first, second]
    assert events.news([first, second, third], second) == [third]
    assert events.news([first], first) == []


def test_news_of_a_history_that_forgot_its_past_are_all_of_it() -> None:
    """A long history drops its oldest entries; nothing new may be missed."""
    history = [_event(number, "claimed", attempt=number) for number in range(5)]
    assert events.news(history[3:], history[0]) == history[3:]


def test_a_line_has_the_facts_in_short() -> None:
    """Attempts count from 1, errors are one line, empty facts are left out."""
    error = {"type": "ValueError", "message": "no\nway", "details": {"traceback": "..."}}
    line = events.line(_event(0, "failed", attempt=0, error=error, reason="", retry_at=START))
    _, _, rest = line.partition("  ")
    assert rest.startswith("failed        attempt #1 error=ValueError: no way retry_at=")
    assert "reason" not in line


def test_bars_share_a_scale_and_are_never_invisible() -> None:
    """The second attempt starts where it started, however short it was."""
    attempts = [_attempt(0, 0, 5, "failed"), _attempt(1, 9.99, 10, "completed")]
    rows = timeline.rows(of(attempts, START, START + timedelta(seconds=60)))
    first, second = (str(row[-1]) for row in rows)
    assert len(first) == len(second) == timeline.WIDTH
    assert first.count("█") == timeline.WIDTH // 2
    assert second == "·" * (timeline.WIDTH - 1) + "█"
    assert rows[0][5] == "failed: Busy: later"


def test_a_running_attempt_lasts_until_now() -> None:
    """Its bar reaches the edge."""
    ((*_, length, outcome, bar),) = timeline.rows(
        of([_attempt(0, 0, None, None)], START, START + timedelta(seconds=90))
    )
    assert (length, outcome) == ("1 min 30 s", "running")
    assert set(str(bar)) == {"█"}
