"""Budgets and quotas that a call names: a tenant can name only its own.

Those of other tenants appear not to exist. A key without a tenant can name the limits of any tenant
in full, as TENANT/NAME.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.errors import BudgetNotFound, QuotaNotFound
from holdfast.model import names
from holdfast.model.executions import NewExecution
from holdfast.server.http.call import Call


def budget(call: Call, name: str) -> str:
    """Return the name of a budget that the caller may use; raise BudgetNotFound otherwise."""
    if _is_foreign(call, name):
        raise BudgetNotFound(f"no budget has the id {name}", id=name)
    return name


def quota(call: Call, name: str) -> str:
    """Return the name of a quota that the caller may use; raise QuotaNotFound otherwise."""
    if _is_foreign(call, name):
        raise QuotaNotFound(f"no quota has the id {name}", id=name)
    return name


def _is_foreign(call: Call, name: str) -> bool:
    own = call.identity.tenant
    return own is not None and names.parse(names.stored(own, name))[0] != own


async def check_limits_exist(call: Call, items: Sequence[NewExecution]) -> None:
    """Check the limits of executions that are submitted later, when refusal is too late."""
    check_limits(call, items)
    await call.engine.executions.check_limits(items)


def check_limits(call: Call, items: Iterable[NewExecution]) -> None:
    """Raise BudgetNotFound or QuotaNotFound for a limit of another tenant."""
    for item in items:
        for name in item.budgets:
            budget(call, name)
        for name in item.quotas:
            quota(call, name)
