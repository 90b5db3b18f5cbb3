"""Budgets: limits on what executions use, by any named dimension."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from holdfast import api
from holdfast.api.budgets import DEFAULT_TTL_MS
from holdfast.engine.asking import Asking
from holdfast.engine.courier import Courier
from holdfast.engine.rules import Rules
from holdfast.engine.spending import Spending, seen_by
from holdfast.model import bounds, calls, checks, names
from holdfast.model.budgets import (
    Breach,
    Budget,
    Charge,
    NewBudget,
    Reservation,
    Usage,
    check_ttl,
    checked_key,
    checked_usage,
)
from holdfast.model.names import DEFAULT_TENANT
from holdfast.store.store import Store


class Budgets(api.Budgets):
    """Operations on budgets."""

    def __init__(
        self,
        store: Store,
        courier: Courier,
        cancel: Callable[[str, str], Awaitable[None]],
        asking: Asking,
    ) -> None:
        self._store = store
        self._budgets = store.budgets
        self._courier = courier
        self.rules: Rules = Rules(store, "budget")
        #: Charges by the holders of leases.
        self.spending: Spending = Spending(store, courier, cancel, asking)

    @override
    async def _create(self, new: NewBudget) -> tuple[Budget, bool]:
        created = await self._budgets.create(new)
        return await self._budgets.get(new.stored_id), created

    @override
    async def get(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        return await self._budgets.get(_stored(budget_id, tenant))

    @override
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Budget], str | None]:
        calls.check_page(limit, tenant)
        return await self._budgets.list_budgets(tenant, limit, cursor)

    @override
    async def set(
        self, budget_id: str, limits: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Budget:
        changes = checked_changes(limits)
        stored = _stored(budget_id, tenant)
        await self._budgets.set(stored, changes)
        return await self._changed(stored)

    @override
    async def reset(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        stored = _stored(budget_id, tenant)
        await self._budgets.reset(stored)
        return await self._changed(stored)

    async def _changed(self, stored: str) -> Budget:
        self._courier.poke(await self._budgets.tag(stored))
        return await self._budgets.get(stored)

    @override
    async def report(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Charge:
        if key is not None:
            checked_key(key)
        stored, amounts = _stored(budget_id, tenant), checked_usage(usage)
        return seen_by(tenant, await self._budgets.report(stored, amounts, key))

    @override
    async def reserve(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str,
        ttl_ms: int = DEFAULT_TTL_MS,
        tenant: str = DEFAULT_TENANT,
    ) -> Reservation:
        check_ttl(ttl_ms)
        amounts = checked_usage(usage)
        stored = _stored(budget_id, tenant)
        reservation = await self._budgets.reserve(stored, amounts, checked_key(key), ttl_ms)
        return seen_by(tenant, reservation)

    @override
    async def settle(
        self, budget_id: str, usage: Usage, *, key: str, tenant: str = DEFAULT_TENANT
    ) -> Charge:
        stored, amounts = _stored(budget_id, tenant), checked_usage(usage)
        charge = await self._budgets.settle(stored, amounts, checked_key(key))
        self._courier.poke(await self._budgets.tag(stored))
        return seen_by(tenant, charge)

    @override
    async def breaches(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Sequence[Breach]:
        return await self._budgets.breaches(_stored(budget_id, tenant))

    @override
    async def spent(
        self, execution_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> dict[str, dict[str, int]]:
        spent = await self._budgets.spent(checks.execution_id("execution", execution_id))
        return {names.seen(stored, tenant): amounts for stored, amounts in spent.items()}

    @override
    async def total(self, tenant: str) -> dict[str, int]:
        return await self._budgets.total(checks.name("tenant", tenant))


def checked_changes(value: Mapping[str, Any]) -> dict[tuple[str, str], int | None]:
    """Check changes of limits; returns them by dimension and `hard` or `soft`."""
    changes: dict[tuple[str, str], int | None] = {}
    for dimension, given in checks.mapping("limits", value).items():
        checks.name("dimension", dimension)
        checks.known_fields(f"limits[{dimension}]", checks.mapping("limit", given), _KINDS)
        for kind, amount in given.items():
            if amount is not None:
                checks.integer(f"limits[{dimension}].{kind}", amount, 0, bounds.AMOUNT)
            changes[dimension, kind] = amount
    if not 1 <= len(changes) <= 2 * bounds.DIMENSIONS:
        checks.refuse("limits", f"must have 1 to {bounds.DIMENSIONS} dimensions", value)
    return changes


_KINDS = ("hard", "soft")


def _stored(budget_id: str, tenant: str) -> str:
    checks.name("tenant", tenant)
    return names.stored(tenant, checks.limit("budget", budget_id))
