"""Spending of executions: charge, reserve and settle, by the holders of their leases."""

from __future__ import annotations

from typing import Any

from holdfast import errors
from holdfast.model.api_keys import Role
from holdfast.model.budgets import Charge
from holdfast.model.states import State
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.routes.budgets import ChargeView, TtlMs, Usage
from holdfast.server.routes.worker_calls import LEASE_EXAMPLE, LOST
from holdfast.server.views.fields import Body, Key, LeaseBody, LimitName, View

routes: Routes = Routes("spending", "Charges of running executions to their budgets.")


class SpentView(View):
    """The spending of an execution, by budget and dimension."""

    budgets: dict[str, dict[str, int]]


@routes.get("/v1/executions/{id}/usage", owner=EXECUTION)
async def spent(call: Call, id: str) -> SpentView:
    """Read the spending of an execution."""
    tenant = await call.engine.owner(id)
    return SpentView(budgets=await call.engine.budgets.spent(id, tenant=tenant))


class HolderUsageBody(Body):
    """The usage of an execution. It is charged to all its budgets, or to the named one."""

    lease: LeaseBody
    usage: Usage
    key: Key | None = None
    budget: LimitName | None = None


_REFUSALS = (*LOST, errors.BudgetNotFound)
#: Whether the execution may be suspended to wait for more.
_ASKING = (*_REFUSALS, errors.TooManyWaitpoints, errors.StoreFull)
_HOLDER: dict[str, Any] = {"role": Role.WORKER, "owner": EXECUTION}


@routes.post(
    "/v1/executions/{id}/usage",
    errors=_ASKING,
    example={"lease": LEASE_EXAMPLE, "usage": {"tokens": 120}, "key": "call-17"},
    **_HOLDER,
)
async def report(call: Call, id: str, body: HolderUsageBody) -> ChargeView:
    """Charge the usage of a running execution to its budgets: to all, or to none.

    After a `hard_breach` with the `state` suspended, the lease is gone. A claim returns the
    execution when its `waitpoint` has been answered; then charge again. With the `state`
    cancelled, the execution has ended.
    """
    charge = await call.engine.budgets.spending.report(
        id, body.lease.lease(), body.usage, key=body.key, budget=body.budget
    )
    return _answer(call, id, body.lease, charge)


def _answer(call: Call, execution_id: str, lease: LeaseBody, charge: Charge) -> ChargeView:
    if charge.state is State.SUSPENDED:
        call.services.metrics.ended(execution_id, lease.epoch, "suspended")
    return ChargeView.of(charge)


class HolderReserveBody(Body):
    """The amounts that an execution reserves."""

    lease: LeaseBody
    usage: Usage
    key: Key
    ttl_ms: TtlMs = 600_000
    budget: LimitName | None = None


@routes.post(
    "/v1/executions/{id}/usage/reserve",
    errors=_ASKING,
    example={"lease": LEASE_EXAMPLE, "usage": {"tokens": 2000}, "key": "call-17"},
    **_HOLDER,
)
async def reserve(call: Call, id: str, body: HolderReserveBody) -> ChargeView:
    """Reserve amounts in the budgets of a running execution: in all, or in none.

    A hard breach affects the execution as one of a charge does.
    """
    reservation = await call.engine.budgets.spending.reserve(
        id,
        body.lease.lease(),
        body.usage,
        key=body.key,
        ttl_ms=body.ttl_ms,
        budget=body.budget,
    )
    return _answer(call, id, body.lease, reservation)


class HolderSettleBody(Body):
    """The usage of an execution's reservation."""

    lease: LeaseBody
    usage: Usage
    key: Key
    budget: LimitName | None = None


@routes.post(
    "/v1/executions/{id}/usage/settle",
    errors=(*_REFUSALS, errors.ReservationNotFound),
    example={"lease": LEASE_EXAMPLE, "usage": {"tokens": 1200}, "key": "call-17"},
    **_HOLDER,
)
async def settle_aside(call: Call, id: str, body: HolderSettleBody) -> ChargeView:
    """Charge the usage of a running execution's reservation and release the rest."""
    charge = await call.engine.budgets.spending.settle(
        id, body.lease.lease(), body.usage, key=body.key, budget=body.budget
    )
    return ChargeView.of(charge)
