"""Describes the budget or quota that holds an execution back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from holdfast.errors import NotFound
from holdfast.model import names
from holdfast.model.budgets import Budget
from holdfast.model.executions import Execution
from holdfast.model.quotas import Quota
from holdfast.model.states import Hold, State
from holdfast.store.store import Store

#: Holders of a quota that are looked at to find the one to show.
_LOOKED_AT = 10


async def blocking_limit(store: Store, execution: Execution) -> Budget | Quota | None:
    """Return the limit that holds an execution back, if there is one and it still exists."""
    if execution.state is not State.RATE_LIMITED or execution.blocked_by is None:
        return None
    try:
        if execution.hold is Hold.BUDGET:
            return await store.budgets.get(names.stored(execution.tenant, execution.blocked_by))
        quota_id, _, value = execution.blocked_by.partition("#")
        return await store.quotas.get(names.stored(execution.tenant, quota_id), value or None)
    except NotFound:
        return None


async def longest_holder(store: Store, execution: Execution, quota: Quota) -> Execution | None:
    """Return the execution that has held a slot of a full quota the longest, of those looked at.

    Rules can subject executions of several tenants to a quota; it is one of the same tenant.
    """
    if quota.max_concurrent is None or quota.running < quota.max_concurrent:
        return None
    quota_id, _, value = (execution.blocked_by or "").partition("#")
    stored = names.stored(execution.tenant, quota_id)
    ids = await store.quotas.holders(stored, value or None, _LOOKED_AT)
    answers = await asyncio.gather(*map(store.queries.describe, ids), return_exceptions=True)
    running = [
        one
        for one in answers
        if isinstance(one, Execution) and one.tenant == execution.tenant and one.worker
    ]
    return min(running, key=lambda one: one.started_at or one.created_at, default=None)


def holder_holds(holder: Execution) -> list[Mapping[str, Any]]:
    """Return the next parts of the chain: who holds the slot, and the worker that runs it."""
    lease = {"type": "lease", "worker": holder.worker, "expires_at": holder.lease_expires_at}
    return [{"type": "holder", "id": holder.id, "kind": holder.kind}, lease]


def describe_limit(
    execution: Execution, limit: Budget | Quota | None
) -> tuple[str, Mapping[str, Any]]:
    """Return a sentence and the facts about the limit that holds an execution back."""
    hold: dict[str, Any] = {"type": execution.hold, "id": execution.blocked_by}
    if execution.retry_at is not None:
        hold["retry_at"] = execution.retry_at
    name = f"{execution.hold} {execution.blocked_by}"
    if isinstance(limit, Budget):
        reason = _budget_reason(limit, hold)
    elif isinstance(limit, Quota):
        reason = _quota_reason(limit, hold)
    else:
        reason = "it continues soon"
    return f"It waits for {name}: {reason}.", hold


def _budget_reason(budget: Budget, hold: dict[str, Any]) -> str:
    for dimension, limit in budget.limits.items():
        used, reserved = (part.get(dimension, 0) for part in (budget.usage, budget.reserved))
        if limit.hard is not None and used + reserved >= limit.hard:
            hold |= {"dimension": dimension, "current": used + reserved, "limit": limit.hard}
            when = "it is reset or raised"
            if budget.next_reset_at is not None:
                hold["retry_at"] = budget.next_reset_at
                when += f", at the latest at {_shown(budget.next_reset_at)}"
            return f"{used + reserved} of {limit.hard} {dimension} are used up, until {when}"
    return "some is available again, so it continues soon"


def _quota_reason(quota: Quota, hold: dict[str, Any]) -> str:
    hold["waiting"] = quota.waiting
    if quota.max_concurrent is not None and quota.running >= quota.max_concurrent:
        hold |= {"running": quota.running, "limit": quota.max_concurrent}
        return f"{quota.running} of {quota.max_concurrent} run now, and {quota.waiting} wait"
    if quota.max_per_window is not None and quota.in_window >= quota.max_per_window:
        hold |= {"in_window": quota.in_window, "limit": quota.max_per_window}
        hold["retry_at"] = quota.frees_at
        window = f"{quota.max_per_window} in {quota.window_ms} ms"
        return f"{quota.in_window} have started of {window}, and {quota.waiting} wait"
    return f"there is room for the first of the {quota.waiting + quota.promised} that wait"


def _shown(moment: Any) -> str:
    return str(moment.isoformat(timespec="milliseconds"))
