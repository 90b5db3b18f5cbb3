"""Limits that an execution names: a tenant attaches its own budgets and quotas only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from holdfast.errors import BudgetNotFound, HoldfastError, NotFound, QuotaNotFound
from holdfast.model.executions import NewExecution
from holdfast.server.call import Call


def no_budget(budget_id: str) -> BudgetNotFound:
    """Return the error for a budget that is not there, or is somebody else's."""
    return BudgetNotFound(f"no budget has the id {budget_id}", id=budget_id)


def no_quota(quota_id: str) -> QuotaNotFound:
    """Return the error for a quota that is not there, or is somebody else's."""
    return QuotaNotFound(f"no quota has the id {quota_id}", id=quota_id)


async def budget_owner(call: Call, budget_id: str) -> str:
    """Return the tenant of a budget."""
    return (await call.engine.budgets.get(budget_id)).tenant


async def quota_owner(call: Call, quota_id: str) -> str:
    """Return the tenant of a quota."""
    return (await call.engine.quotas.get(quota_id)).tenant


async def foreign_limits(call: Call, items: Iterable[NewExecution]) -> dict[str, HoldfastError]:
    """Return the limits that the caller may not attach, as `b:ID` and `q:ID`, with their errors.

    Keys that belong to no tenant may attach any.
    """
    own = call.identity.tenant
    if own is None:
        return {}
    items = await declared_limits(call, items)
    budgets: set[str] = set()
    quotas: set[str] = set()
    for item in items:
        budgets.update(item.budgets)
        quotas.update(item.quotas)
    named = [("b", one) for one in sorted(budgets)] + [("q", one) for one in sorted(quotas)]
    refused = await asyncio.gather(*(_refusal(call, own, *one) for one in named))
    return {
        f"{kind}:{limit_id}": error
        for (kind, limit_id), error in zip(named, refused, strict=True)
        if error is not None
    }


async def declared_limits(call: Call, items: Iterable[NewExecution]) -> list[NewExecution]:
    """Return the items with the limits that their tasks declare."""
    items = list(items)
    completed = await call.engine.store.declarations.complete(items, check=False)
    return [
        one if isinstance(one, NewExecution) else item
        for item, one in zip(items, completed, strict=True)
    ]


async def _refusal(call: Call, own: str, kind: str, limit_id: str) -> HoldfastError | None:
    find, missing = (budget_owner, no_budget) if kind == "b" else (quota_owner, no_quota)
    try:
        return None if await find(call, limit_id) == own else missing(limit_id)
    except NotFound:
        return missing(limit_id)


def refused_limit(item: NewExecution, foreign: dict[str, HoldfastError]) -> HoldfastError | None:
    """Return why an item cannot have its limits, None if it can."""
    if not foreign:
        return None
    wanted = [f"b:{one}" for one in item.budgets] + [f"q:{one}" for one in item.quotas]
    return next((foreign[one] for one in wanted if one in foreign), None)


async def check_limits(call: Call, items: list[NewExecution]) -> None:
    """Raise BudgetNotFound or QuotaNotFound for a limit of another tenant."""
    for error in (await foreign_limits(call, items)).values():
        raise error
