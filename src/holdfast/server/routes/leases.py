"""Leases: extend many at once."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.server.auth import shown
from holdfast.server.auth.owners import restricted_to_caller
from holdfast.server.http import problems
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.fields import Body, LeaseBody, LeaseMs, ScopedId, View
from holdfast.server.views.times import rfc3339

routes: Routes = Routes("leases", "Leases: the right to run executions.")


class HeldBody(Body):
    """An execution and the lease on it."""

    execution: ScopedId
    lease: LeaseBody


class RenewBody(Body):
    """Leases to extend."""

    items: Annotated[list[HeldBody], Meta(max_length=bounds.CLAIM_ITEMS)]
    lease_ms: LeaseMs = 30_000


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


def _renewed(answer: datetime | HoldfastError) -> RenewedView:
    if isinstance(answer, datetime):
        return RenewedView(ok=True, expires_at=rfc3339(answer))
    state = answer.context.get("state")
    return RenewedView(
        ok=False,
        code=answer.code,
        detail=shown.text(answer.message),
        state=UNSET if state is None else str(state),
    )
