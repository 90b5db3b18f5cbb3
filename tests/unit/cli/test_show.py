"""`holdfast show`: facts, steps and tries in words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holdfast.cli import show
from holdfast.cli.terminal import times
from holdfast.model.executions import Attempt, Step
from holdfast.model.explanations import Explanation
from holdfast.model.listing import Page
from holdfast.model.moments import to_ms
from holdfast.model.states import AttemptKind, State
from holdfast.operate.picture import Picture
from tests.unit.cli.executions import CREATED, execution


def _attempt(index: int, outcome: str) -> Attempt:
    at = CREATED + timedelta(seconds=index)
    return Attempt(
        index=index,
        kind=AttemptKind.INITIAL,
        worker="w",
        started_at=at,
        ended_at=at + timedelta(seconds=1),
        outcome=outcome,
    )


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what is printed of an execution, by the word at the beginning of each line."""

    def lines(state: State, *, steps: Any = None, outcomes: Any = (), **fields: Any) -> Any:
        attempts = [_attempt(index, outcome) for index, outcome in enumerate(outcomes)]
        picture = Picture(
            execution=execution(state, **fields),
            explanation=Explanation(state=state, why="It waits."),
            input=b"null",
            outcome=None,
            attempts=attempts,
            steps=[
                Step(name=name, at=CREATED, result=result) for name, result in (steps or {}).items()
            ],
            history=[],
            children=Page(items=(), next_cursor=None),
        )
        show._print(picture)
        found = (line.split(None, 1) for line in capsys.readouterr().out.splitlines())
        return {words[0]: words[1] for words in found if len(words) == 2}

    return lines


def test_progress_is_that_of_an_execution_that_goes_on(shown: Any) -> None:
    """One that has completed is not at 80 %; one that failed got as far as that."""
    facts = {"progress_pct": 80.0, "progress_message": "page 4"}
    assert shown(State.ACTIVE, **facts)["progress"] == "80 % page 4"
    assert shown(State.FAILED, **facts)["progress"] == "80 % page 4"
    assert "progress" not in shown(State.COMPLETED, **facts)


def test_a_replay_does_not_hide_earlier_failures(shown: Any) -> None:
    """The count of the policy starts anew; that of people does not."""
    tried = shown(State.FAILED, attempts=2, failures=1, replays=1, outcomes=["failed", "timed_out"])
    assert tried["tries"] == "2 attempts, 2 failed, replayed once"
    tried = shown(State.ACTIVE, attempts=1, reclaims=1, replays=2)
    assert tried["tries"] == "1 attempt, 0 failed, 1 lost to a worker that died, 2 replays"


def test_sleeps_and_waits_are_shown_in_words(shown: Any) -> None:
    """Until when, and who answered what; other steps as they are."""
    until = CREATED + timedelta(hours=1)
    answer = b'[{"name": "approve", "payload": {"ok": true}, "identity": "ann"}]'
    steps = {
        "sleep:1": str(to_ms(until)).encode(),
        "wait:pay#1": answer,
        "wait:pay#2": b"[]",
        "count": b"7",
    }
    results = shown(State.ACTIVE, steps=steps)
    recorded = f"{times.stamp(CREATED)}  "
    assert results["sleep:1"] == f"{recorded}until {times.stamp(until)}"
    assert results["wait:pay#1"] == f'{recorded}approve by ann {{"ok":true}}'
    assert results["wait:pay#2"] == f"{recorded}no answer"
    assert results["count"] == f"{recorded}7"
