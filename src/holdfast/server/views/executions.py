"""Executions as replies show them."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, UnsetType

from holdfast.model.executions import Attempt, Claim, Event, Execution, Step, Submitted
from holdfast.model.payloads import as_base64, as_json
from holdfast.model.states import StateVector
from holdfast.server.auth import shown
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import View
from holdfast.server.views.sessions import SessionRefView
from holdfast.server.views.times import optional, rfc3339
from holdfast.server.views.waitpoints import SignalView


class SubmittedView(View, omit_defaults=True):
    """The answer to a submission."""

    id: str
    state: str
    #: It existed already, by its id or its idempotency key.
    duplicate: bool = False

    @classmethod
    def of(cls, answer: Submitted) -> SubmittedView:
        """Show an answer."""
        return cls(id=shown.own(answer.id), state=answer.state, duplicate=answer.duplicate)


class StateView(View, omit_defaults=True):
    """The state that a call has led to."""

    state: str
    #: When a failed attempt is tried again.
    retry_at: str | None = None
    #: When a delayed one goes on.
    run_at: str | None = None


class StateVectorView(ModelView, model=StateVector):
    """The dimensions of the state."""


class ProgressView(View):
    """How far an execution is."""

    pct: float | None
    message: str | None


class ExecutionView(View):
    """What is known about an execution."""

    id: str
    tenant: str
    kind: str
    lane: str
    priority: int
    requires: tuple[str, ...]
    state: str
    state_vector: StateVectorView
    #: Index of the current or last attempt; null before the first.
    attempt: int | None
    #: Attempts started so far.
    attempts: int
    attempt_kind: str
    attempt_open: bool
    failures: int
    reclaims: int
    replays: int
    epoch: int
    #: Why it is delayed.
    hold: str | None
    worker: str | None
    created_at: str
    started_at: str | None
    completed_at: str | None
    run_at: str | None
    deadline_at: str | None
    lease_expires_at: str | None
    timeout_at: str | None
    forget_at: str | None
    progress: ProgressView
    error: Any
    #: Why it was cancelled.
    reason: str | None
    tags: dict[str, str]
    idempotency_key: str | None
    #: The graph it is a member of.
    graph: str | None
    #: The execution whose task submitted it.
    parent: str | None
    #: When a suspended one stops waiting, and what happens then.
    wait_until: str | None
    on_timeout: str | None
    budgets: tuple[str, ...]
    quotas: tuple[str, ...]
    #: What holds a rate_limited one back, and when it expects room.
    blocked_by: str | None
    retry_at: str | None

    @classmethod
    def of(cls, one: Execution) -> ExecutionView:
        """Show an execution."""
        return cls(
            id=shown.own(one.id),
            tenant=one.tenant,
            kind=one.kind,
            lane=one.lane,
            priority=one.priority,
            requires=one.requires,
            state=one.state,
            state_vector=StateVectorView.of(one.state_vector),
            attempt=one.attempts - 1 if one.attempts else None,
            attempts=one.attempts,
            attempt_kind=one.attempt_kind,
            attempt_open=one.attempt_open,
            failures=one.failures,
            reclaims=one.reclaims,
            replays=one.replays,
            epoch=one.epoch,
            hold=one.hold,
            worker=one.worker,
            created_at=rfc3339(one.created_at),
            started_at=optional(one.started_at),
            completed_at=optional(one.completed_at),
            run_at=optional(one.run_at),
            deadline_at=optional(one.deadline_at),
            lease_expires_at=optional(one.lease_expires_at),
            timeout_at=optional(one.timeout_at),
            forget_at=optional(one.forget_at),
            progress=ProgressView(pct=one.progress_pct, message=one.progress_message),
            error=one.error,
            reason=one.reason,
            tags=dict(one.tags),
            idempotency_key=one.idempotency_key,
            graph=shown.own_or_none(one.graph),
            parent=shown.own_or_none(one.parent),
            wait_until=optional(one.wait_until),
            on_timeout=one.on_timeout,
            budgets=one.budgets,
            quotas=one.quotas,
            blocked_by=one.blocked_by,
            retry_at=optional(one.retry_at),
        )


class ExecutionPage(View):
    """A page of executions, newest first."""

    items: list[ExecutionView]
    next_cursor: str | None


class EventPage(View):
    """What happened, oldest first: each item has `at`, `event` and what belongs to it."""

    items: list[dict[str, Any]]
    next_cursor: str | None = None


def event_view(event: Event) -> dict[str, Any]:
    """Show something that happened."""
    data = {
        name: rfc3339(value) if hasattr(value, "isoformat") else value
        for name, value in shown.own_ids(event.data).items()
    }
    return {"at": rfc3339(event.at), "event": event.event, **data}


class AttemptView(ModelView, model=Attempt):
    """One try."""

    error: Any


class AttemptPage(View):
    """All attempts, oldest first."""

    items: list[AttemptView]
    next_cursor: str | None = None


class StepView(View):
    """A journaled result; one that is no JSON is in `result_base64`."""

    name: str
    at: str
    result: Any
    result_base64: str | UnsetType = UNSET

    @classmethod
    def of(cls, one: Step) -> StepView:
        """Show a step."""
        value = as_json(one.result)
        encoded = UNSET if value is not None else as_base64(one.result)
        return cls(name=one.name, at=rfc3339(one.at), result=value, result_base64=encoded)


class StepPage(View):
    """The journal, in the order of recording."""

    items: list[StepView]
    next_cursor: str | None = None


class ExplanationView(View):
    """Why an execution is where it is."""

    state: str
    why: str
    holds: list[dict[str, Any]]


class LeaseView(View):
    """A lease, to be sent with every call of its holder."""

    id: str
    epoch: int
    attempt: int
    expires_at: str


class AttemptRef(View):
    """Which attempt it is, and why it was started."""

    index: int
    kind: str


class ClaimedExecution(View):
    """What a worker needs to know of an execution."""

    id: str
    tenant: str
    kind: str
    lane: str
    priority: int
    requires: tuple[str, ...]
    tags: dict[str, str]
    created_at: str
    deadline_at: str | None
    #: When this attempt times out.
    timeout_at: str | None
    replays: int
    #: The place in a trace from which it was submitted.
    traceparent: str | None


class ClaimView(View):
    """An execution handed to a worker. Payloads that are no JSON are in the `_base64` fields."""

    execution: ClaimedExecution
    input: Any
    attempt: AttemptRef
    lease: LeaseView
    steps: dict[str, Any]
    #: What ended the last wait.
    signals: list[SignalView]
    #: The key of the wait that ended last.
    resumed: str | None
    input_base64: str | UnsetType = UNSET
    steps_base64: dict[str, str] | UnsetType = UNSET
    #: How often it started again with another input and an empty journal; absent: never.
    continued: int | UnsetType = UNSET
    #: The session whose conversation it runs.
    session: SessionRefView | UnsetType = UNSET
    #: The worker keeps its place: `steps` has only the step at which that waits.
    kept: bool | UnsetType = UNSET

    @classmethod
    def of(cls, claim: Claim) -> ClaimView:
        """Show a claim."""
        value = as_json(claim.input)
        steps: dict[str, Any] = {}
        encoded: dict[str, str] = {}
        for name, result in claim.steps.items():
            recorded: Raw | None = as_json(result)
            steps[name] = recorded
            if recorded is None:
                encoded[name] = as_base64(result)
        return cls(
            execution=ClaimedExecution(
                id=shown.own(claim.id),
                tenant=claim.tenant,
                kind=claim.kind,
                lane=claim.lane,
                priority=claim.priority,
                requires=claim.requires,
                tags=dict(claim.tags),
                created_at=rfc3339(claim.created_at),
                deadline_at=optional(claim.deadline_at),
                timeout_at=optional(claim.timeout_at),
                replays=claim.replays,
                traceparent=claim.traceparent,
            ),
            input=value,
            attempt=AttemptRef(index=claim.lease.attempt, kind=claim.attempt_kind),
            lease=LeaseView(
                id=claim.lease.id,
                epoch=claim.lease.epoch,
                attempt=claim.lease.attempt,
                expires_at=rfc3339(claim.expires_at),
            ),
            steps=steps,
            signals=[SignalView.of(one) for one in claim.signals],
            resumed=claim.resumed,
            input_base64=UNSET if value is not None else as_base64(claim.input),
            steps_base64=encoded or UNSET,
            continued=claim.continued or UNSET,
            session=SessionRefView.of(claim.session),
            kept=claim.kept or UNSET,
        )


class ClaimsView(View, omit_defaults=True):
    """What a claim got."""

    claims: list[ClaimView]
    #: The worker was asked to finish: it gets nothing more. Absent otherwise.
    draining: bool = False


class BatchItem(View, omit_defaults=True):
    """The answer for one item: `id` and `state`, or `code` and `detail`."""

    id: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    duplicate: bool = False
    code: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET


class BatchView(View):
    """An answer for each item, in order."""

    items: list[BatchItem]
