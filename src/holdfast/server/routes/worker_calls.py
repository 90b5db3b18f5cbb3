"""Calls of lease holders: complete, fail, record steps, report progress, delay."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.executions import Failure
from holdfast.model.payloads import as_base64, as_json
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.executions import StateView
from holdfast.server.views.fields import (
    Base64,
    Body,
    DurationMs,
    LeaseBody,
    StepName,
    View,
    payload,
)
from holdfast.server.views.frames import FRAMES_BYTES, FrameBody
from holdfast.server.views.times import optional, rfc3339

routes: Routes = Routes("holding", "Calls of a worker that holds a lease.")

LOST = (errors.StaleLease, errors.LeaseRevoked, errors.NotActive)
LEASE_EXAMPLE = {"id": "l1", "epoch": 1, "attempt": 0}


class CompleteBody(Body):
    """The result: any JSON, kept as it is written, or bytes in base64."""

    lease: LeaseBody
    result: Raw | UnsetType = UNSET
    result_base64: Base64 | UnsetType = UNSET
    content_type: Annotated[str, Meta(max_length=bounds.CONTENT_TYPE_CHARS)] | None = None
    #: The last frames of its stream; `summary` cannot be among them.
    frames: Annotated[list[FrameBody], Meta(max_length=bounds.FRAMES_IN_BATCH)] = msgspec.field(
        default_factory=list
    )


@routes.post(
    "/v1/executions/{id}/complete",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=LOST,
    most_bytes=FRAMES_BYTES,
    example={"lease": LEASE_EXAMPLE, "result": {"sent": True}},
)
async def complete(call: Call, id: str, body: CompleteBody) -> StateView:
    """End an execution with its result. A repeated call gets the first answer again."""
    result = payload("result", body.result, body.result_base64)
    await call.engine.complete(
        id,
        body.lease.lease(),
        result,
        content_type=body.content_type,
        frames=[frame.frame() for frame in body.frames],
    )
    call.services.metrics.ended(id, body.lease.epoch, "completed")
    return StateView(state="completed")


class ErrorBody(Body):
    """The error of an attempt."""

    type: Annotated[str, Meta(min_length=1, max_length=bounds.ERROR_TYPE_CHARS)]
    message: str
    #: False ends the execution regardless of its retry policy.
    retryable: bool = True
    #: Replaces the backoff of the policy.
    retry_after_ms: DurationMs | None = None
    details: Any = None


class FailBody(Body):
    """An error that ends the attempt."""

    lease: LeaseBody
    error: ErrorBody


@routes.post(
    "/v1/executions/{id}/fail",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=LOST,
    example={
        "lease": LEASE_EXAMPLE,
        "error": {"type": "SmtpError", "message": "421 try again", "retryable": True},
    },
)
async def fail(call: Call, id: str, body: FailBody) -> StateView:
    """End an attempt with an error. The retry policy decides whether it is retried."""
    failure = Failure(**{name: getattr(body.error, name) for name in ErrorBody.__struct_fields__})
    state, retry_at = await call.engine.fail(id, body.lease.lease(), failure)
    call.services.metrics.ended(id, body.lease.epoch, "failed")
    return StateView(state=state, retry_at=optional(retry_at))


class StepBody(Body):
    """The result of a step."""

    lease: LeaseBody
    name: StepName
    result: Raw | UnsetType = UNSET
    result_base64: Base64 | UnsetType = UNSET


class RecordedView(View):
    """The recorded result; bytes that are not JSON are in `result_base64`."""

    name: str
    result: Any
    result_base64: str | UnsetType = UNSET


@routes.post(
    "/v1/executions/{id}/steps",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(*LOST, errors.TooManySteps, errors.StoreFull),
    example={"lease": LEASE_EXAMPLE, "name": "charge", "result": {"receipt": 4711}},
)
async def record_step(call: Call, id: str, body: StepBody) -> RecordedView:
    """Record the result of a step. Every call returns the first recorded result."""
    result = payload("result", body.result, body.result_base64)
    recorded = await call.engine.checkpoint(id, body.lease.lease(), body.name, result)
    shown = as_json(recorded)
    encoded = UNSET if shown is not None else as_base64(recorded)
    return RecordedView(name=body.name, result=shown, result_base64=encoded)


class ProgressBody(Body):
    """The progress of the task."""

    lease: LeaseBody
    pct: Annotated[float, Meta(ge=0, le=100)]
    message: Annotated[str, Meta(max_length=bounds.PROGRESS_CHARS)] = ""


@routes.post(
    "/v1/executions/{id}/progress",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(*LOST, errors.StoreFull),
    example={"lease": LEASE_EXAMPLE, "pct": 40, "message": "2 of 5"},
)
async def progress(call: Call, id: str, body: ProgressBody) -> StateView:
    """Report the progress of the task, 0 to 100."""
    await call.engine.progress(id, body.lease.lease(), body.pct, body.message)
    return StateView(state="active")


class DelayBody(Body):
    """How long to wait before the attempt continues."""

    lease: LeaseBody
    delay_ms: DurationMs


@routes.post(
    "/v1/executions/{id}/delay",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=LOST,
    example={"lease": LEASE_EXAMPLE, "delay_ms": 60000},
)
async def delay(call: Call, id: str, body: DelayBody) -> StateView:
    """Release the lease and continue the same attempt later, on any worker."""
    state, run_at = await call.engine.delay(id, body.lease.lease(), body.delay_ms)
    return StateView(state=state, run_at=rfc3339(run_at))
