"""model.states: the state vector is derived, for every state a record can have."""

from __future__ import annotations

import dataclasses
import re

import pytest

from holdfast.model import states
from holdfast.model.states import TERMINAL, AttemptKind, Hold, State, StateVector, state_vector

LEGAL = {
    "lifecycle_phase": {"runnable", "active", "suspended", "terminal"},
    "ownership": {"unowned", "leased"},
    "eligibility": {
        "eligible_now",
        "not_eligible_until_time",
        "not_applicable",
        "blocked_by_schedule",
        "blocked_by_budget",
        "blocked_by_quota",
    },
    "blocking_reason": {
        "none",
        "waiting_for_worker",
        "waiting_for_delay",
        "waiting_for_retry_backoff",
        "waiting_for_reclaim_backoff",
        "waiting_for_resume_delay",
        "waiting_for_signal",
        "waiting_for_approval",
        "waiting_for_callback",
        "waiting_for_tool_result",
        "paused_by_operator",
        "waiting_for_schedule",
        "waiting_for_debounce",
        "waiting_for_admission",
        "waiting_for_budget",
        "waiting_for_quota",
    },
    "terminal_outcome": {"none", "success", "failed", "cancelled", "expired", "skipped"},
    "attempt_state": {
        "pending_first_attempt",
        "pending_retry_attempt",
        "pending_reclaim_attempt",
        "pending_replay_attempt",
        "attempt_interrupted",
        "running_attempt",
        "attempt_terminal",
    },
}

DELAYS = (Hold.DELAY, Hold.BACKOFF, Hold.RECLAIM, Hold.PAUSE, Hold.DEBOUNCE, Hold.SCHEDULE)
WAITS = (
    *(Hold.SIGNAL, Hold.APPROVAL, Hold.CALLBACK, Hold.TOOL_RESULT),
    *(Hold.BUDGET, Hold.OPERATOR, Hold.ESCALATED),
)


LIMITS = {Hold.GRANT, Hold.BUDGET, Hold.QUOTA}


def _combinations() -> list[tuple[State, Hold | None, AttemptKind, bool]]:
    """Return every combination that a record can store in this part of the system."""
    found: list[tuple[State, Hold | None, AttemptKind, bool]] = []
    for kind in AttemptKind:
        found += [(state, None, kind, False) for state in (*sorted(TERMINAL), State.ACTIVE)]
        found += [(State.WAITING, None, kind, is_open) for is_open in (False, True)]
        for is_open in (False, True):
            found += [(State.WAITING, Hold.GRANT, kind, is_open)]
            found += [(State.DELAYED, hold, kind, is_open) for hold in DELAYS]
            found += [
                (State.RATE_LIMITED, hold, kind, is_open) for hold in (Hold.BUDGET, Hold.QUOTA)
            ]
        found += [(State.SUSPENDED, hold, kind, True) for hold in WAITS]
    return found


@pytest.mark.parametrize(("state", "hold", "kind", "is_open"), _combinations())
def test_every_dimension_has_a_legal_value(
    state: State, hold: Hold | None, kind: AttemptKind, *, is_open: bool
) -> None:
    """No combination is left out, none makes a value of its own."""
    vector = state_vector(state, hold, kind, attempt_open=is_open)
    for field in dataclasses.fields(vector):
        assert getattr(vector, field.name) in LEGAL[field.name]


@pytest.mark.parametrize(("state", "hold", "kind", "is_open"), _combinations())
def test_the_dimensions_agree_with_each_other(
    state: State, hold: Hold | None, kind: AttemptKind, *, is_open: bool
) -> None:
    """Only one reading of the vector is possible."""
    vector = state_vector(state, hold, kind, attempt_open=is_open)
    assert (vector.lifecycle_phase == "terminal") == state.is_terminal
    assert (vector.terminal_outcome != "none") == state.is_terminal
    assert (vector.ownership == "leased") == (state is State.ACTIVE)
    assert (vector.attempt_state == "running_attempt") == (state is State.ACTIVE)
    until = "blocked_by_schedule" if hold is Hold.SCHEDULE else "not_eligible_until_time"
    assert (vector.eligibility == until) == (state is State.DELAYED)
    assert (vector.eligibility == "eligible_now") == (state is State.WAITING)
    blocked = state is State.RATE_LIMITED or hold is Hold.SCHEDULE
    assert vector.eligibility.startswith("blocked_by_") == blocked
    assert (vector.blocking_reason == "none") == (state is State.ACTIVE or state.is_terminal)


def test_an_active_execution_is_leased() -> None:
    """The whole vector of a running attempt."""
    assert state_vector(State.ACTIVE, None, AttemptKind.RETRY, attempt_open=False) == StateVector(
        lifecycle_phase="active",
        ownership="leased",
        eligibility="not_applicable",
        blocking_reason="none",
        terminal_outcome="none",
        attempt_state="running_attempt",
    )


@pytest.mark.parametrize(
    ("hold", "reason"),
    [
        (Hold.DELAY, "waiting_for_delay"),
        (Hold.BACKOFF, "waiting_for_retry_backoff"),
        (Hold.RECLAIM, "waiting_for_reclaim_backoff"),
        (Hold.PAUSE, "waiting_for_resume_delay"),
        (Hold.SCHEDULE, "waiting_for_schedule"),
    ],
)
def test_each_hold_has_its_reason(hold: Hold, reason: str) -> None:
    """Why it is delayed can be told from the vector."""
    vector = state_vector(State.DELAYED, hold, AttemptKind.INITIAL, attempt_open=False)
    assert vector.blocking_reason == reason


@pytest.mark.parametrize(
    ("kind", "attempt_state"),
    [
        (AttemptKind.INITIAL, "pending_first_attempt"),
        (AttemptKind.RETRY, "pending_retry_attempt"),
        (AttemptKind.RECLAIM, "pending_reclaim_attempt"),
        (AttemptKind.REPLAY, "pending_replay_attempt"),
    ],
)
def test_each_kind_of_attempt_is_pending_under_its_name(
    kind: AttemptKind, attempt_state: str
) -> None:
    """What the next claim opens can be told before it does."""
    vector = state_vector(State.WAITING, None, kind, attempt_open=False)
    assert vector.attempt_state == attempt_state


@pytest.mark.parametrize("kind", AttemptKind)
def test_an_open_attempt_is_interrupted_not_pending(kind: AttemptKind) -> None:
    """The next claim goes on with it."""
    vector = state_vector(State.DELAYED, Hold.PAUSE, kind, attempt_open=True)
    assert vector.attempt_state == "attempt_interrupted"


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (State.COMPLETED, "success"),
        (State.FAILED, "failed"),
        (State.CANCELLED, "cancelled"),
        (State.EXPIRED, "expired"),
        (State.SKIPPED, "skipped"),
    ],
)
def test_each_end_has_its_outcome(state: State, outcome: str) -> None:
    """The outcome says how it ended."""
    vector = state_vector(state, None, AttemptKind.INITIAL, attempt_open=False)
    assert (vector.terminal_outcome, vector.attempt_state) == (outcome, "attempt_terminal")


def test_the_drawing_names_only_states_that_exist() -> None:
    """The drawing at the head of the module and the enum are the same states."""
    drawing = str(states.__doc__).split("A record stores")[0]
    drawn = {state for state in State if re.search(rf"\b{state}\b", drawing)}
    open_states = {State.WAITING, State.DELAYED, State.ACTIVE, State.SUSPENDED}
    open_states |= {State.WAITING_CHILDREN, State.RATE_LIMITED}
    assert drawn == open_states | TERMINAL


def test_a_member_that_waits_for_others_is_blocked_by_them() -> None:
    """In the words of the state vector."""
    vector = state_vector(State.WAITING_CHILDREN, None, AttemptKind.INITIAL, attempt_open=False)
    assert (vector.lifecycle_phase, vector.ownership) == ("runnable", "unowned")
    assert vector.eligibility == "blocked_by_dependencies"
    assert vector.blocking_reason == "waiting_for_children"
    assert vector.attempt_state == "pending_first_attempt"
