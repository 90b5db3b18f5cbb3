"""Budgets: create, read, charge, reserve, settle, limits, reset."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.budgets import Breach, Breaches, Budget, Charge, Limit, OnHard, Reservation
from holdfast.server.auth import attachments
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.routes.rules import add_rules
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import (
    Body,
    Cursor,
    Key,
    LimitName,
    Name,
    PageLimit,
    Query,
    Tenants,
    View,
)

routes: Routes = Routes(
    "budgets", "Limits on the usage of executions, by named dimension.", names_tenant=TenantQuery
)

Amount = Annotated[int, Meta(ge=0, le=bounds.AMOUNT)]
Usage = Annotated[dict[Name, Amount], Meta(min_length=1, max_length=bounds.DIMENSIONS)]
TtlMs = Annotated[int, Meta(ge=1, le=bounds.RESERVATION_MAX_MS)]
ResetMs = Annotated[int, Meta(ge=bounds.RESET_MIN_MS, le=bounds.DURATION_MS)]
_SPENDING = (Role.SUBMITTER, Role.WORKER, Role.OPERATOR)


class LimitBody(Body):
    """The limits of one dimension; an absent limit does not apply."""

    #: Usage and reservations never exceed it.
    hard: Amount | None = None
    #: Exceeding it is reported, not refused.
    soft: Amount | None = None


class BudgetBody(Body):
    """A budget to create."""

    limits: Annotated[dict[Name, LimitBody], Meta(max_length=bounds.DIMENSIONS)]
    #: Generated if absent.
    id: Name | None = None
    tenant: Name | None = None
    #: Usage also counts against this budget and all of its ancestors.
    parent: LimitName | None = None
    #: The usage returns to zero each time this has passed.
    reset_ms: ResetMs | None = None
    #: What happens to an execution whose charge would exceed a hard limit.
    on_hard: OnHard = OnHard.REFUSE


class LimitView(ModelView, model=Limit):
    """Limits of one dimension."""


class BreachView(ModelView, model=Breach, own=("execution",)):
    """An occasion on which a limit was exceeded, or would have been."""


class BreachesView(ModelView, model=Breaches):
    """How often limits were exceeded."""

    last: BreachView | None

    @classmethod
    def of(cls, value: Breaches) -> BreachesView:
        """Show the counts."""
        return cls.copy(value, last=None if value.last is None else BreachView.of(value.last))


class BudgetView(ModelView, model=Budget):
    """A budget."""

    limits: dict[str, LimitView]
    #: The usage of every dimension that has a limit or was used.
    usage: dict[str, int]
    #: Amounts reserved and not yet settled.
    reserved: dict[str, int]
    breaches: BreachesView

    @classmethod
    def of(cls, value: Budget) -> BudgetView:
        """Show a budget."""
        nothing = dict.fromkeys(value.limits, 0)
        return cls.copy(
            value,
            limits={name: LimitView.of(limit) for name, limit in value.limits.items()},
            usage={**nothing, **value.usage},
            reserved={**nothing, **value.reserved},
            breaches=BreachesView.of(value.breaches),
        )


@routes.post(
    "/v1/budgets",
    role=Role.OPERATOR,
    status=(201, 200),
    errors=(
        errors.BudgetConflict,
        errors.BudgetTooDeep,
        errors.BudgetNotFound,
        errors.StoreFull,
    ),
    example={"limits": {"tokens": {"hard": 1_000_000, "soft": 800_000}}, "reset_ms": 86_400_000},
)
async def create(call: Call, body: BudgetBody) -> Answer[BudgetView]:
    """Create a budget. Repeating the call with the same id and content returns the existing one."""
    if body.parent is not None:
        attachments.budget(call, body.parent)
    budget, created = await call.engine.budgets.create(
        body.id,
        limits={name: _limit(limit) for name, limit in body.limits.items()},
        tenant=str(call.tenant),
        parent=body.parent,
        reset_ms=body.reset_ms,
        on_hard=body.on_hard,
    )
    return Answer(BudgetView.of(budget), 201 if created else 200)


def _limit(body: LimitBody) -> dict[str, int | None]:
    return {"hard": body.hard, "soft": body.soft}


class ListQuery(Query):
    """Whose budgets to list."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


class BudgetPage(View):
    """A page of budgets, by tenant and id."""

    items: list[BudgetView]
    next_cursor: str | None


@routes.get("/v1/budgets")
async def list_budgets(call: Call, query: ListQuery) -> BudgetPage:
    """List budgets. An operator key lists all tenants with `tenant=*`."""
    budgets, more = await call.engine.budgets.list(
        call.tenant, limit=query.limit, cursor=query.cursor
    )
    return BudgetPage(items=[BudgetView.of(budget) for budget in budgets], next_cursor=more)


class TotalView(View):
    """The total that the budgets of a tenant were ever charged."""

    tenant: str
    usage: dict[str, int]


@routes.get("/v1/budgets:total")
async def total(call: Call) -> TotalView:
    """Read the total that all budgets of a tenant were ever charged, by dimension."""
    tenant = str(call.tenant)
    return TotalView(tenant=tenant, usage=await call.engine.budgets.total(tenant))


@routes.get("/v1/budgets/{id}", errors=(errors.BudgetNotFound,))
async def describe(call: Call, id: str) -> BudgetView:
    """Read a budget with its usage."""
    return BudgetView.of(
        await call.engine.budgets.get(attachments.budget(call, id), tenant=str(call.tenant))
    )


class BreachPage(View):
    """The most recent breaches, oldest first."""

    items: list[BreachView]
    next_cursor: str | None = None


@routes.get("/v1/budgets/{id}/breaches", errors=(errors.BudgetNotFound,))
async def breaches(call: Call, id: str) -> BreachPage:
    """Read the last 100 breaches, oldest first."""
    rows = await call.engine.budgets.breaches(attachments.budget(call, id), tenant=str(call.tenant))
    return BreachPage(items=[BreachView.of(row) for row in rows])


class LimitChange(Body):
    """New limits of one dimension. null removes a limit; an absent limit keeps its value."""

    hard: Amount | UnsetType | None = UNSET
    soft: Amount | UnsetType | None = UNSET


class ChangeBody(Body):
    """New limits by dimension. Dimensions that you omit keep their limits."""

    limits: Annotated[dict[Name, LimitChange], Meta(max_length=bounds.DIMENSIONS)]


@routes.patch(
    "/v1/budgets/{id}",
    role=Role.OPERATOR,
    errors=(errors.BudgetNotFound,),
    example={"limits": {"tokens": {"hard": 2_000_000}}},
)
async def change(
    call: Call,
    id: str,
    body: ChangeBody,
) -> BudgetView:
    """Change limits. Waiting executions continue if the budget now allows it."""
    changes = {
        name: {
            kind: amount
            for kind, amount in (("hard", limit.hard), ("soft", limit.soft))
            if amount is not UNSET
        }
        for name, limit in body.limits.items()
    }
    budget = await call.engine.budgets.set(
        attachments.budget(call, id), changes, tenant=str(call.tenant)
    )
    return BudgetView.of(budget)


class ChargeView(View, omit_defaults=True):
    """The answer to a charge."""

    #: ok, soft_breach, hard_breach or already_applied.
    status: str
    #: After a breach: the budget whose limit it is, which may be an ancestor.
    budget: str | None = None
    dimension: str | None = None
    current: int | None = None
    limit: int | None = None
    on_hard: str | None = None
    #: After a hard breach by the holder of a lease, who has lost it: suspended or cancelled.
    state: str | None = None
    #: For a suspended execution: the waitpoint at which it asks for more.
    waitpoint: str | None = None
    #: For a reservation: the amounts now reserved under this key.
    reserved: dict[str, int] | UnsetType = UNSET
    #: For a settlement: the usage of the budget now.
    usage: dict[str, int] | UnsetType = UNSET

    @classmethod
    def of(cls, charge: Charge) -> ChargeView:
        """Show an answer."""
        return cls(
            status=charge.status,
            budget=charge.budget,
            dimension=charge.dimension,
            current=charge.current,
            limit=charge.limit,
            on_hard=charge.on_hard,
            state=charge.state,
            waitpoint=charge.waitpoint,
            reserved=dict(charge.reserved) if isinstance(charge, Reservation) else UNSET,
        )


class UsageBody(Body):
    """The usage to charge. The same key is charged once."""

    usage: Usage
    key: Key | None = None


@routes.post(
    "/v1/budgets/{id}/usage",
    role=_SPENDING,
    errors=(errors.BudgetNotFound,),
    example={"usage": {"tokens": 120}, "key": "call-17"},
)
async def report(
    call: Call,
    id: str,
    body: UsageBody,
) -> ChargeView:
    """Charge usage: all of it, or nothing on a hard breach, which does not use up the key."""
    charge = await call.engine.budgets.report(
        attachments.budget(call, id), body.usage, key=body.key, tenant=str(call.tenant)
    )
    return ChargeView.of(charge)


class ReserveBody(Body):
    """The amounts to reserve, the key, and the longest time."""

    usage: Usage
    key: Key
    ttl_ms: TtlMs = 600_000


@routes.post(
    "/v1/budgets/{id}/reserve",
    role=_SPENDING,
    errors=(errors.BudgetNotFound,),
    example={"usage": {"tokens": 2000}, "key": "call-17", "ttl_ms": 60000},
)
async def reserve(
    call: Call,
    id: str,
    body: ReserveBody,
) -> ChargeView:
    """Reserve amounts until they are settled or `ttl_ms` has passed."""
    reservation = await call.engine.budgets.reserve(
        attachments.budget(call, id),
        body.usage,
        key=body.key,
        ttl_ms=body.ttl_ms,
        tenant=str(call.tenant),
    )
    return ChargeView.of(reservation)


class SettleBody(Body):
    """The usage of a reservation."""

    usage: Usage
    key: Key


@routes.post(
    "/v1/budgets/{id}/settle",
    role=_SPENDING,
    errors=(errors.BudgetNotFound, errors.ReservationNotFound),
    example={"usage": {"tokens": 1200}, "key": "call-17"},
)
async def settle(
    call: Call,
    id: str,
    body: SettleBody,
) -> ChargeView:
    """Charge the usage of a reservation and release the rest."""
    tenant, budgets = str(call.tenant), call.engine.budgets
    charge = await budgets.settle(
        attachments.budget(call, id), body.usage, key=body.key, tenant=tenant
    )
    view = ChargeView.of(charge)
    view.usage = dict((await budgets.get(id, tenant=tenant)).usage)
    return view


@routes.post(
    "/v1/budgets/{id}/reset", role=Role.OPERATOR, errors=(errors.BudgetNotFound,), takes_key=True
)
async def reset(call: Call, id: str) -> BudgetView:
    """Reset the usage to zero. Reservations stay."""
    return BudgetView.of(
        await call.engine.budgets.reset(attachments.budget(call, id), tenant=str(call.tenant))
    )


add_rules(routes, "budgets", errors.BudgetNotFound)
