"""Waits of lease holders: waitpoints that are prepared in advance, and the wait itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from holdfast import errors
from holdfast.model import bounds, checks
from holdfast.model.api_keys import Role
from holdfast.model.states import State
from holdfast.model.waitpoints import NewWaitpoint, Prepared
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.routes.worker_calls import LEASE_EXAMPLE, LOST
from holdfast.server.views.fields import Body, Key, LeaseBody, Name, PositiveMs
from holdfast.server.views.waitpoints import PreparedPage, PreparedView, SignalView, SuspensionView

routes: Routes = Routes("waiting", "Waits of workers for people and systems.")

WaitpointId = Annotated[
    str, Meta(min_length=1, max_length=bounds.NAME_CHARS + bounds.ID_CHARS + 16)
]


class NewWaitpointBody(Body):
    """A waitpoint to create."""

    name: Name
    #: The JSON Schema of the payloads that it accepts.
    schema: dict[str, Any] | bool | None = None
    #: It closes this long after its creation.
    expires_ms: PositiveMs | None = None
    #: How many signals its token can send.
    uses: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    #: The names of signals that it accepts; a trailing `*` matches any rest; empty accepts all.
    signals: Annotated[tuple[str, ...], Meta(max_length=bounds.SIGNAL_NAMES)] = ()
    #: The identities of sources that it accepts; empty accepts all.
    answerers: Annotated[tuple[Key, ...], Meta(max_length=bounds.ANSWERERS)] = ()
    #: The question for people.
    title: Annotated[str, Meta(max_length=bounds.TITLE_CHARS)] = ""
    #: Your name for it. Preparing it again under the same key returns the same waitpoint.
    key: Key | None = None

    def item(self) -> NewWaitpoint:
        """Return the value for the engine."""
        return NewWaitpoint(**{name: getattr(self, name) for name in _NEW})


_NEW = NewWaitpointBody.__struct_fields__


class PrepareBody(Body):
    """Waitpoints to create before the wait."""

    lease: LeaseBody
    waitpoints: Annotated[
        list[NewWaitpointBody], Meta(min_length=1, max_length=bounds.WAITPOINTS_IN_WAIT)
    ]


@routes.post(
    "/v1/executions/{id}/waitpoints",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(*LOST, errors.WaitpointExists, errors.TooManyWaitpoints, errors.StoreFull),
    example={
        "lease": LEASE_EXAMPLE,
        "waitpoints": [{"name": "mail", "title": "How much?", "signals": ["approve", "deny"]}],
    },
)
async def prepare(call: Call, id: str, body: PrepareBody) -> PreparedPage:
    """Create waitpoints before the wait, so that their tokens can be sent out first.

    Signals that arrive before the wait are kept for it. With keys, the call is safe to repeat.
    """
    items = [item.item() for item in body.waitpoints]
    made = await call.engine.waitpoints.prepare(id, body.lease.lease(), items)
    return PreparedPage(items=[PreparedView.of(point) for point in made])


class WaitAtBody(NewWaitpointBody):
    """Where to wait: a new waitpoint with its `name`, or a prepared one by its `id`."""

    name: Name | None = None  # type: ignore[assignment]
    id: WaitpointId | None = None

    def listed(self, call: Call) -> NewWaitpoint | Prepared | str:
        """Return the value for the engine."""
        if self.id is None:
            if self.name is None:
                checks.refuse("waitpoints", "need a name or an id", None)
            return self.item()
        if self != WaitAtBody(id=self.id, name=self.name):
            checks.refuse("waitpoints", "that are prepared take no further fields", self.id)
        stored = call.stored_id(self.id)
        return stored if self.name is None else Prepared(stored, self.name)


class SuspendBody(Body):
    """What to wait for."""

    lease: LeaseBody
    waitpoints: Annotated[
        list[WaitAtBody], Meta(min_length=1, max_length=bounds.WAITPOINTS_IN_WAIT)
    ]
    #: Names the waitpoints; `{"waitpoint": NAME}` matches any signal to one.
    condition: dict[str, Any]
    timeout_ms: PositiveMs | None = None
    on_timeout: Literal["fail", "cancel", "expire", "resume", "escalate"] = "fail"
    #: The purpose of the wait, for `explain`.
    reason: Literal[
        "signal", "approval", "callback", "tool_result", "budget", "operator", "code"
    ] = "signal"
    #: Your name for this wait. It makes the call safe to repeat, and claims return it.
    key: Key | None = None


@routes.post(
    "/v1/executions/{id}/suspend",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(
        *LOST,
        errors.InvalidCondition,
        errors.WaitpointNotFound,
        errors.WaitpointClosed,
        errors.TooManyWaitpoints,
        errors.StoreFull,
    ),
    example={
        "lease": LEASE_EXAMPLE,
        "waitpoints": [{"name": "approval"}],
        "condition": {"waitpoint": "approval", "signal": "approve"},
        "timeout_ms": 172800000,
        "on_timeout": "fail",
    },
)
async def suspend(call: Call, id: str, body: SuspendBody) -> SuspensionView:
    """Suspend an execution until a condition on waitpoints holds.

    If the answer is `suspended`, the lease is released, and a later claim returns the execution
    with its `signals`, in the same attempt. If early signals already fulfil the condition, the
    answer is `active` with the signals, and the caller keeps the lease.
    """
    answer = await call.engine.waitpoints.suspend(
        id,
        body.lease.lease(),
        [point.listed(call) for point in body.waitpoints],
        body.condition,
        timeout_ms=body.timeout_ms,
        on_timeout=body.on_timeout,
        reason=body.reason,
        key=body.key,
    )
    view = SuspensionView(
        state=answer.state, waitpoints=[PreparedView.of(point) for point in answer.waitpoints]
    )
    if answer.state is State.SUSPENDED:
        call.services.metrics.ended(id, body.lease.epoch, "suspended")
    else:
        view.signals = [SignalView.of(signal) for signal in answer.signals]
    return view
