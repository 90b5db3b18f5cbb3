"""Leases: extend many at once, or end their executions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Raw, UnsetType

from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.calls import Completion
from holdfast.server.auth import shown
from holdfast.server.auth.owners import restricted_to_caller
from holdfast.server.http import problems
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.fields import (
    Base64,
    Body,
    LeaseBody,
    LeaseMs,
    ScopedId,
    View,
    payload,
)
from holdfast.server.views.times import rfc3339

routes: Routes = Routes("leases", "Leases: the right to run executions.")

COMPLETE_BYTES = 16 << 20


class HeldBody(Body):
    """An execution and the lease on it."""

    execution: ScopedId
    lease: LeaseBody


class RenewBody(Body):
    """Leases to extend."""

    items: Annotated[list[HeldBody], Meta(max_length=bounds.CLAIM_ITEMS)]
    lease_ms: LeaseMs = 30_000


class CompletedBody(HeldBody):
    """An execution that has ended, with its result: any JSON, or bytes in base64."""

    result: Raw | UnsetType = UNSET
    result_base64: Base64 | UnsetType = UNSET
    content_type: Annotated[str, Meta(max_length=bounds.CONTENT_TYPE_CHARS)] | None = None


class CompleteBody(Body):
    """Executions to end."""

    items: Annotated[list[CompletedBody], Meta(max_length=bounds.CLAIM_ITEMS)]


class CompletedView(View):
    """The answer for one execution."""

    ok: bool
    code: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    state: str | UnsetType = UNSET


class CompletedPage(View):
    """An answer for each execution, in order."""

    items: list[CompletedView]


class RenewedView(View):
    """The answer for one lease."""

    ok: bool
    expires_at: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    state: str | UnsetType = UNSET


class RenewedPage(View):
    """An answer for each lease, in order."""

    items: list[RenewedView]


@routes.post(
    "/v1/leases:renew",
    role=Role.WORKER,
    example={
        "items": [{"execution": "x1", "lease": {"id": "l1", "epoch": 1, "attempt": 0}}],
        "lease_ms": 30000,
    },
)
async def renew(call: Call, body: RenewBody) -> RenewedPage:
    """Extend leases. A holder that has lost its lease learns it here."""
    held = [(call.stored_id(item.execution), item.lease.lease()) for item in body.items]
    call.audited = False
    with restricted_to_caller(call, [execution for execution, _ in held]):
        answers = await call.engine.renew(held, body.lease_ms)
    problems.raise_if_all_will_pass(answers)
    return RenewedPage(items=[_renewed(answer) for answer in answers])


@routes.post(
    "/v1/leases:complete",
    role=Role.WORKER,
    most_bytes=COMPLETE_BYTES,
    example={
        "items": [
            {
                "execution": "x1",
                "lease": {"id": "l1", "epoch": 1, "attempt": 0},
                "result": {"sent": True},
            }
        ]
    },
)
async def complete(call: Call, body: CompleteBody) -> CompletedPage:
    """End executions with their results, each independently; the answers are in order.

    A repeated call gets the first answers again.
    """
    items = [_completion(call, number, item) for number, item in enumerate(body.items)]
    with restricted_to_caller(call, [item.execution_id for item in items]):
        answers = await call.engine.executions.complete_many(items)
    for item, answer in zip(items, answers, strict=True):
        if answer is None:
            call.services.metrics.ended(item.execution_id, item.lease.epoch, "completed")
    problems.raise_if_all_will_pass(answers)
    return CompletedPage(items=[_completed(answer) for answer in answers])


def _completion(call: Call, number: int, item: CompletedBody) -> Completion:
    return Completion(
        call.stored_id(item.execution),
        item.lease.lease(),
        payload(f"items[{number}].result", item.result, item.result_base64),
        item.content_type,
    )


def _completed(answer: HoldfastError | None) -> CompletedView:
    if answer is None:
        return CompletedView(ok=True, state="completed")
    return CompletedView(ok=False, **_refused(answer))


def _renewed(answer: datetime | HoldfastError) -> RenewedView:
    if isinstance(answer, datetime):
        return RenewedView(ok=True, expires_at=rfc3339(answer))
    return RenewedView(ok=False, **_refused(answer))


def _refused(answer: HoldfastError) -> dict[str, str]:
    state = answer.context.get("state")
    found = {"code": answer.code, "detail": shown.text(answer.message)}
    return found if state is None else {**found, "state": str(state)}
