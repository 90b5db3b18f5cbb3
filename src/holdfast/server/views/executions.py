"""Executions as replies show them."""

from __future__ import annotations

from typing import Any, Self

from msgspec import UNSET, Raw, UnsetType

from holdfast.model.executions import Attempt, Claim, Event, Execution, Step, Submitted
from holdfast.model.listing import Page, Total
from holdfast.model.payloads import as_base64, as_json
from holdfast.model.resubmissions import origin_of
from holdfast.model.states import StateVector
from holdfast.server.auth import shown
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import View
from holdfast.server.views.seen import Payload, PayloadBase64, PayloadError, Words
from holdfast.server.views.sessions import SessionRefView
from holdfast.server.views.times import optional, rfc3339
from holdfast.server.views.waitpoints import SignalView


class SubmittedView(View, omit_defaults=True):
    """The answer to a submission."""

    id: str
    state: str
    #: Whether it already existed, by its id or its idempotency key.
    duplicate: bool = False

    @classmethod
    def of(cls, answer: Submitted) -> SubmittedView:
        """Show an answer."""
        return cls(id=shown.own(answer.id), state=answer.state, duplicate=answer.duplicate)


class StateView(View, omit_defaults=True):
    """The state after a call."""

    state: str
    #: When a failed attempt is retried.
    retry_at: str | None = None
    #: When a delayed execution continues.
    run_at: str | None = None


class StateVectorView(ModelView, model=StateVector):
    """The dimensions of the state."""


class ProgressView(View):
    """The progress of an execution."""

    pct: float | None
    message: Words | None


class ExecutionView(View):
    """An execution."""

    id: str
    tenant: str
    kind: str
    lane: str
    priority: int
    requires: tuple[str, ...]
    state: str
    state_vector: StateVectorView
    #: The index of the current or last attempt; null before the first.
    attempt: int | None
    #: The number of attempts started so far.
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
    error: PayloadError
    #: Why it was cancelled.
    reason: str | None
    tags: dict[str, str]
    idempotency_key: str | None
    #: The graph it is a member of.
    graph: str | None
    #: The execution whose task submitted it.
    parent: str | None
    #: The execution of which it is a copy, by a resubmission.
    origin: str | None
    #: What happens to it when its parent ends; null without a parent.
    on_parent_end: str | None
    #: How many children and graphs its end would cancel; lists do not count them.
    bound: int
    #: How many signals it has not received yet; lists do not count them.
    unread: int
    #: The names of the signals that its code waits for.
    listens: tuple[str, ...]
    #: When a suspended execution stops waiting, and what happens then.
    wait_until: str | None
    on_timeout: str | None
    budgets: tuple[str, ...]
    quotas: tuple[str, ...]
    #: The limit that holds a rate_limited execution back, and when it expects room.
    blocked_by: str | None
    retry_at: str | None

    @classmethod
    def of(cls, execution: Execution) -> Self:
        """Show an execution."""
        return cls(
            id=shown.own(execution.id),
            tenant=execution.tenant,
            kind=execution.kind,
            lane=execution.lane,
            priority=execution.priority,
            requires=execution.requires,
            state=execution.state,
            state_vector=StateVectorView.of(execution.state_vector),
            attempt=execution.attempts - 1 if execution.attempts else None,
            attempts=execution.attempts,
            attempt_kind=execution.attempt_kind,
            attempt_open=execution.attempt_open,
            failures=execution.failures,
            reclaims=execution.reclaims,
            replays=execution.replays,
            epoch=execution.epoch,
            hold=execution.hold,
            worker=execution.worker,
            created_at=rfc3339(execution.created_at),
            started_at=optional(execution.started_at),
            completed_at=optional(execution.completed_at),
            run_at=optional(execution.run_at),
            deadline_at=optional(execution.deadline_at),
            lease_expires_at=optional(execution.lease_expires_at),
            timeout_at=optional(execution.timeout_at),
            forget_at=optional(execution.forget_at),
            progress=ProgressView(pct=execution.progress_pct, message=execution.progress_message),
            error=execution.error,
            reason=execution.reason,
            tags=dict(execution.tags),
            idempotency_key=execution.idempotency_key,
            graph=shown.own_or_none(execution.graph),
            parent=shown.own_or_none(execution.parent),
            origin=origin_of(execution),
            on_parent_end=execution.on_parent_end,
            bound=execution.bound,
            unread=execution.unread,
            listens=execution.listens,
            wait_until=optional(execution.wait_until),
            on_timeout=execution.on_timeout,
            budgets=execution.budgets,
            quotas=execution.quotas,
            blocked_by=execution.blocked_by,
            retry_at=optional(execution.retry_at),
        )


class TotalView(View):
    """How many executions match."""

    count: int
    #: False if at least this many match: counting the others would cost too much.
    exact: bool
    #: In words: `412`, or `10,000+`.
    text: str

    @classmethod
    def of(cls, total: Total) -> TotalView:
        """Show a total."""
        return cls(count=total.count, exact=total.exact, text=str(total))


class ListedView(ExecutionView, omit_defaults=True):
    """An execution in a list. Of an error, only `type`, `code` and `place` are shown."""

    #: Why it is not running, with `why=true`; absent once it has ended.
    why: str | UnsetType = UNSET


class ListPage(View, omit_defaults=True):
    """A page of executions. It may be short, even empty, though more follow."""

    items: list[ListedView]
    next_cursor: str | None
    #: With `total=true`.
    total: TotalView | UnsetType = UNSET

    @classmethod
    def of(cls, page: Page) -> ListPage:
        """Show a page."""
        items = []
        for execution in page.items:
            view = ListedView.of(execution)
            view.why = page.whys.get(execution.id, UNSET)
            items.append(view)
        total = UNSET if page.total is None else TotalView.of(page.total)
        return cls(items=items, next_cursor=page.next_cursor, total=total)


class ExecutionPage(View):
    """A page of executions, newest first."""

    items: list[ExecutionView]
    next_cursor: str | None


class EventPage(View):
    """The history, oldest first. Each item has `at`, `event` and the data of the event."""

    items: list[dict[str, Any]]
    next_cursor: str | None = None


def event_view(event: Event) -> dict[str, Any]:
    """Show an event."""
    data = {
        name: rfc3339(value) if hasattr(value, "isoformat") else value
        for name, value in shown.own_ids(event.data).items()
    }
    return {"at": rfc3339(event.at), "event": event.event, **data}


class AttemptView(ModelView, model=Attempt):
    """An attempt."""

    error: PayloadError


class AttemptPage(View):
    """All attempts, oldest first."""

    items: list[AttemptView]
    next_cursor: str | None = None


class StepView(View):
    """A recorded step. A result that is not JSON is in `result_base64`."""

    name: str
    at: str
    result: Payload
    result_base64: PayloadBase64 = UNSET

    @classmethod
    def of(cls, step: Step) -> StepView:
        """Show a step."""
        value = as_json(step.result)
        encoded = UNSET if value is not None else as_base64(step.result)
        return cls(name=step.name, at=rfc3339(step.at), result=value, result_base64=encoded)


class StepPage(View):
    """The recorded steps, in the order of recording."""

    items: list[StepView]
    next_cursor: str | None = None


class ExplanationView(View):
    """Why an execution is not running."""

    state: str
    why: str
    holds: list[dict[str, Any]]


class LeaseView(View):
    """A lease, which the holder sends with every call."""

    id: str
    epoch: int
    attempt: int
    expires_at: str


class AttemptRef(View):
    """The attempt, and why it was started."""

    index: int
    kind: str


class ClaimedExecution(View):
    """What a worker needs to know about an execution."""

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
    #: The trace context of the submission.
    traceparent: str | None


class ClaimView(View):
    """A claimed execution. Payloads that are not JSON are in the `_base64` fields."""

    execution: ClaimedExecution
    input: Any
    attempt: AttemptRef
    lease: LeaseView
    steps: dict[str, Any]
    #: The signals that ended the last wait.
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
            signals=[SignalView.of(signal) for signal in claim.signals],
            resumed=claim.resumed,
            input_base64=UNSET if value is not None else as_base64(claim.input),
            steps_base64=encoded or UNSET,
            continued=claim.continued or UNSET,
            session=SessionRefView.of(claim.session),
            kept=claim.kept or UNSET,
        )


class ClaimsView(View, omit_defaults=True):
    """The claimed executions."""

    claims: list[ClaimView]
    #: True if the worker was asked to drain and gets nothing more; absent otherwise.
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
