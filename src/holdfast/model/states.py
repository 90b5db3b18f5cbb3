r"""The states of an execution.

                 +--------- delayed <---------+ fail with retries left, delay,
                 |             ^              | reclaim after the first
      create ----+----> waiting ----claim---> active ----complete---> completed
                           ^                   | |  \---fail---------> failed
                           +-------------------+ |
                             lease lost, revoke  +--cancel, deadline-> cancelled, expired
                                                                         (from any state)
      active --suspend--> suspended --signals, operator, time--> waiting
                              \--timeout--> failed, cancelled, expired
      replay: terminal -> waiting
      graph:  waiting_children -> waiting, delayed or skipped, when its upstreams decide
      limits: waiting ----claim---> asked (a grant) ----> active, or rate_limited ----> waiting

A record stores the public state, its hold, and the kind of its attempt. The state
vector is derived from these three by `state_vector`, so no two dimensions can disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """The public state of an execution."""

    WAITING = "waiting"
    DELAYED = "delayed"
    RATE_LIMITED = "rate_limited"
    WAITING_CHILDREN = "waiting_children"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SKIPPED = "skipped"

    @property
    def is_terminal(self) -> bool:
        """Whether only a replay can change it."""
        return self in TERMINAL


#: The ends of a member of a graph that meet an edge on failure.
FAILURES = frozenset({State.FAILED, State.CANCELLED, State.EXPIRED})
TERMINAL = FAILURES | {State.COMPLETED, State.SKIPPED}


class Hold(StrEnum):
    """Why an execution is held back, or what a suspended one waits for."""

    DELAY = "delay"
    BACKOFF = "backoff"
    RECLAIM = "reclaim"
    PAUSE = "pause"
    #: Fired by a schedule whose earlier executions have not ended.
    SCHEDULE = "schedule"
    #: A conversation: for the next message, or until a person gives it back.
    MESSAGE = "message"
    PERSON = "person"
    SIGNAL = "signal"
    APPROVAL = "approval"
    CALLBACK = "callback"
    TOOL_RESULT = "tool_result"
    OPERATOR = "operator"
    #: Its code does not fit its journal: for code that does.
    CODE = "code"
    ESCALATED = "escalated"
    #: Submitted with debounce: later submissions may replace it.
    DEBOUNCE = "debounce"
    #: Claimed; the claim is asking its limits.
    GRANT = "grant"
    BUDGET = "budget"
    QUOTA = "quota"


class AttemptKind(StrEnum):
    """Why an attempt was started."""

    INITIAL = "initial"
    RETRY = "retry"
    RECLAIM = "reclaim"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateVector:
    """The dimensions of the state, for programs that need only one of them."""

    lifecycle_phase: str
    ownership: str
    eligibility: str
    blocking_reason: str
    terminal_outcome: str
    attempt_state: str


_BLOCKING_REASON = {
    Hold.DELAY: "waiting_for_delay",
    Hold.BACKOFF: "waiting_for_retry_backoff",
    Hold.RECLAIM: "waiting_for_reclaim_backoff",
    Hold.PAUSE: "waiting_for_resume_delay",
    Hold.SCHEDULE: "waiting_for_schedule",
    Hold.MESSAGE: "waiting_for_message",
    Hold.PERSON: "waiting_for_person",
    Hold.SIGNAL: "waiting_for_signal",
    Hold.APPROVAL: "waiting_for_approval",
    Hold.CALLBACK: "waiting_for_callback",
    Hold.TOOL_RESULT: "waiting_for_tool_result",
    Hold.OPERATOR: "paused_by_operator",
    Hold.ESCALATED: "paused_by_operator",
    Hold.CODE: "paused_by_operator",
    Hold.DEBOUNCE: "waiting_for_debounce",
    Hold.GRANT: "waiting_for_admission",
    Hold.BUDGET: "waiting_for_budget",
    Hold.QUOTA: "waiting_for_quota",
}

_ELIGIBILITY = {
    Hold.SCHEDULE: "blocked_by_schedule",
    Hold.BUDGET: "blocked_by_budget",
    Hold.QUOTA: "blocked_by_quota",
    Hold.GRANT: "eligible_now",
    None: "eligible_now",
}

_OUTCOME = {
    State.COMPLETED: "success",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
    State.EXPIRED: "expired",
    State.SKIPPED: "skipped",
}

_PENDING = {
    AttemptKind.INITIAL: "pending_first_attempt",
    AttemptKind.RETRY: "pending_retry_attempt",
    AttemptKind.RECLAIM: "pending_reclaim_attempt",
    AttemptKind.REPLAY: "pending_replay_attempt",
}


def state_vector(
    state: State, hold: Hold | None, kind: AttemptKind, *, attempt_open: bool
) -> StateVector:
    """Derive the state vector from the fields of a record."""
    if state in TERMINAL:
        return StateVector(
            lifecycle_phase="terminal",
            ownership="unowned",
            eligibility="not_applicable",
            blocking_reason="none",
            terminal_outcome=_OUTCOME[state],
            attempt_state="attempt_terminal",
        )
    if state is State.ACTIVE:
        return StateVector(
            lifecycle_phase="active",
            ownership="leased",
            eligibility="not_applicable",
            blocking_reason="none",
            terminal_outcome="none",
            attempt_state="running_attempt",
        )
    if state is State.SUSPENDED and hold:
        return StateVector(
            lifecycle_phase="suspended",
            ownership="unowned",
            eligibility="not_applicable",
            blocking_reason=_BLOCKING_REASON[hold],
            terminal_outcome="none",
            attempt_state="attempt_interrupted",
        )
    if state is State.WAITING_CHILDREN:
        eligibility, reason = "blocked_by_dependencies", "waiting_for_children"
    else:
        eligibility = _ELIGIBILITY.get(hold, "not_eligible_until_time")
        reason = _BLOCKING_REASON[hold] if hold else "waiting_for_worker"
    return StateVector(
        lifecycle_phase="runnable",
        ownership="unowned",
        eligibility=eligibility,
        blocking_reason=reason,
        terminal_outcome="none",
        attempt_state="attempt_interrupted" if attempt_open else _PENDING[kind],
    )
