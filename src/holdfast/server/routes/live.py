"""Contact with running executions: signals to their code, and the views that they set."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, UnsetType, field

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.views import View as ExecutionView
from holdfast.model.waitpoints import Signal, Source
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Routes
from holdfast.server.routes.signals import EffectView, SourceBody
from holdfast.server.routes.worker_calls import LEASE_EXAMPLE, LOST
from holdfast.server.views.fields import (
    Body,
    Key,
    LeaseBody,
    Moment,
    Name,
    Query,
    StepName,
    View,
    WaitMs,
    payload,
)
from holdfast.server.views.seen import Payload
from holdfast.server.views.times import optional
from holdfast.server.views.waitpoints import SignalView

routes: Routes = Routes("live", "Signals to the code of executions, and the views that it sets.")


class SendBody(Body):
    """A signal for the code of an execution."""

    name: Name
    payload: Raw | UnsetType = UNSET
    source: SourceBody = field(default_factory=SourceBody)
    #: A second signal with the same key has no effect.
    idempotency_key: Key | None = None
    correlation: Annotated[str, Meta(max_length=bounds.ID_CHARS)] = ""


@routes.post(
    "/v1/executions/{id}/signals",
    role=Role.SUBMITTER,
    owner=EXECUTION,
    errors=(errors.AlreadyTerminal, errors.InboxFull, errors.StoreFull),
    example={"name": "speed", "payload": {"factor": 2}, "idempotency_key": "click-17"},
)
async def send(call: Call, id: str, body: SendBody) -> EffectView:
    """Send a signal to the code of an execution, which receives signals in their order.

    The answer `buffered` means that the signal is stored, not that the code has received it.
    """
    effect = await call.engine.signal(
        id,
        body.name,
        payload("payload", body.payload, UNSET),
        source=Source(type=body.source.type, identity=body.source.identity),
        idempotency_key=body.idempotency_key,
        correlation=body.correlation,
    )
    return EffectView(effect=effect)


class ReceiveBody(Body):
    """Which signals to receive, and how to wait for the first of them."""

    lease: LeaseBody
    #: The step that records the signal.
    step: StepName
    #: Names of signals; a trailing `*` matches any rest; empty receives all.
    names: Annotated[tuple[str, ...], Meta(max_length=bounds.SIGNAL_NAMES)] = ()
    #: How long the call waits.
    wait_ms: WaitMs = 0
    #: Without a signal, release the lease; the attempt continues when one comes.
    release: bool = False
    #: With `release`: when the attempt continues without a signal.
    until: Moment | None = None


class ReceivedView(View):
    """The signal that the step records; null if none is there yet."""

    signal: SignalView | None
    #: Whether the caller still holds the lease.
    held: bool


@routes.post(
    "/v1/executions/{id}/receive",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(*LOST, errors.TooManySteps, errors.RateLimited, errors.StoreFull),
    example={"lease": LEASE_EXAMPLE, "names": ["speed"], "step": "signal:speed:1"},
)
async def receive(call: Call, id: str, body: ReceiveBody) -> ReceivedView:
    """Receive the oldest unread signal, and record it as a step.

    A repeated call with the same step gets the same signal.
    """
    lease = body.lease.lease()
    if body.release:
        found = await call.engine.await_signal(
            id, lease, body.names, step=body.step, until=body.until
        )
        return ReceivedView(signal=_shown(found), held=found is not None)
    found = await call.engine.receive(id, lease, body.names, step=body.step)
    if found is None and body.wait_ms:
        with call.waiting():
            timeout_s = body.wait_ms / 1000
            waiting = call.engine.receive(
                id, lease, body.names, step=body.step, timeout_s=timeout_s
            )
            found = await call.unless_gone(waiting)
    return ReceivedView(signal=_shown(found), held=True)


def _shown(signal: Signal | None) -> SignalView | None:
    return None if signal is None else SignalView.of(signal)


class SetViewBody(Body):
    """What the execution shows of itself."""

    lease: LeaseBody
    #: Any JSON of up to 64 KiB, kept as it was written.
    view: Raw


class VersionView(View):
    """The version of a view."""

    version: int


@routes.put(
    "/v1/executions/{id}/view",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(*LOST, errors.StoreFull),
    example={"lease": LEASE_EXAMPLE, "view": {"page": 7}},
)
async def set_view(call: Call, id: str, body: SetViewBody) -> VersionView:
    """Replace the view of an execution. The same view again does not change its version."""
    lease = body.lease.lease()
    return VersionView(version=await call.engine.set_view(id, lease, bytes(body.view)))


class ViewQuery(Query):
    """The version that the caller has, and how long to wait for a newer one."""

    after: Annotated[int, Meta(ge=0, le=bounds.AMOUNT)] = 0
    wait_ms: WaitMs = 0


class ShownView(View):
    """The view of an execution."""

    state: str
    #: 0 if the execution has set no view.
    version: int
    #: null if there is none that is newer than the caller's.
    view: Payload
    at: str | None


@routes.get(
    "/v1/executions/{id}/view",
    owner=EXECUTION,
    errors=(errors.RateLimited, *CHANGING),
    query_example={"wait_ms": "0"},
)
async def view(call: Call, id: str, query: ViewQuery) -> ShownView:
    """Read what an execution shows of itself.

    With `after` and `wait_ms` the call waits for a newer view, or for the end of the execution.
    """
    found = await call.engine.view(id, after=query.after)
    if query.wait_ms and found.version <= query.after and not found.state.is_terminal:
        with call.waiting():
            waiting = call.engine.view(id, after=query.after, timeout_s=query.wait_ms / 1000)
            found = await call.unless_gone(waiting) or found
    return _view(found)


def _view(found: ExecutionView) -> ShownView:
    return ShownView(
        state=found.state,
        version=found.version,
        view=None if found.data is None else Raw(found.data.strip()),
        at=optional(found.at),
    )
