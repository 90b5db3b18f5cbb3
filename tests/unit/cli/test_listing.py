"""`holdfast ls`: the note at the end of a row says what matters in its state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.cli.listing import note_of
from holdfast.model.states import Hold, State
from tests.unit.cli.executions import execution


def test_a_failed_row_says_why_it_failed() -> None:
    """How long it took is of no use then; an error of several lines is one."""
    now = datetime.now(UTC)
    error = {"type": "Declined", "message": "no\nfunds"}
    failed = execution(State.FAILED, error=error, started_at=now, completed_at=now)
    assert note_of(failed) == "Declined: no funds"
    assert note_of(execution(State.COMPLETED, started_at=now, completed_at=now)) == "took 0 ms"


@pytest.mark.parametrize(
    ("hold", "note"),
    [
        (Hold.APPROVAL, "waits for approval, 58 s left"),
        (Hold.BUDGET, "waits for budget, 58 s left"),
        (Hold.SIGNAL, "waits for an answer, 58 s left"),
        (Hold.ESCALATED, "waits for an operator: no answer came in time"),
    ],
)
def test_a_suspended_row_says_what_it_waits_for(hold: Hold, note: str) -> None:
    """And for how long it still will."""
    until = datetime.now(UTC) + timedelta(seconds=58.9)
    assert note_of(execution(State.SUSPENDED, hold=hold, wait_until=until)) == note


@pytest.mark.parametrize(("seconds", "note"), [(8.9, "sleeps, 8 s left"), (-1, "sleeps, due now")])
def test_a_row_that_sleeps_says_for_how_long(seconds: float, note: str) -> None:
    """A time that has passed is not one to come."""
    fields: dict[str, Any] = {"run_at": datetime.now(UTC) + timedelta(seconds=seconds)}
    assert note_of(execution(State.DELAYED, hold=Hold.PAUSE, **fields)) == note
