"""Budgets: limits on the usage of executions, by named dimension."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.api.rules import Rules
from holdfast.model import checks
from holdfast.model.budgets import (
    Breach,
    Budget,
    Charge,
    Expense,
    NewBudget,
    OnHard,
    Reservation,
    Usage,
    check_ttl,
)
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT

DEFAULT_TTL_MS = 600_000


class Spending(ABC):
    """Charges by lease holders. An execution without a budget can charge any amount."""

    async def report(
        self,
        execution_id: str,
        lease: Lease,
        usage: Usage,
        *,
        key: str | None = None,
        budget: str | None = None,
    ) -> Charge:
        """Charge the usage of an execution to its budgets, or to one of them.

        With several budgets, all are charged or none: the amounts are reserved in each first. A
        hard breach suspends or cancels the execution if the budget says so; see the `state`.
        """
        expense = Expense(
            execution_id=execution_id,
            lease=lease,
            usage=usage,
            key=new_id() if key is None else key,
            budget=budget,
        )
        return await self._report(expense)

    @abstractmethod
    async def _report(self, expense: Expense) -> Charge:
        """Charge an expense."""

    async def reserve(
        self,
        execution_id: str,
        lease: Lease,
        usage: Usage,
        *,
        key: str,
        ttl_ms: int = DEFAULT_TTL_MS,
        budget: str | None = None,
    ) -> Reservation:
        """Reserve amounts in the budgets of an execution, in all of them or in none.

        A hard breach affects the execution as it does in `report`.
        """
        expense = Expense(
            execution_id=execution_id, lease=lease, usage=usage, key=key, budget=budget
        )
        check_ttl(ttl_ms)
        return await self._reserve(expense, ttl_ms)

    @abstractmethod
    async def _reserve(self, expense: Expense, ttl_ms: int) -> Reservation:
        """Reserve an expense."""

    async def settle(
        self,
        execution_id: str,
        lease: Lease,
        usage: Usage,
        *,
        key: str,
        budget: str | None = None,
    ) -> Charge:
        """Charge the usage of a reservation and release the rest.

        This never suspends the execution: a reserved amount can always be charged.
        """
        expense = Expense(
            execution_id=execution_id, lease=lease, usage=usage, key=key, budget=budget
        )
        return await self._settle(expense)

    @abstractmethod
    async def _settle(self, expense: Expense) -> Charge:
        """Charge a reserved expense."""


class Budgets(ABC):
    """Operations on budgets."""

    rules: Rules
    #: Charges by lease holders.
    spending: Spending

    async def create(
        self,
        budget_id: str | None = None,
        *,
        limits: Mapping[str, Any],
        tenant: str = DEFAULT_TENANT,
        parent: str | None = None,
        reset_ms: int | None = None,
        on_hard: str = OnHard.REFUSE,
    ) -> tuple[Budget, bool]:
        """Create a budget; return it and whether it is new. The id is generated if absent.

        `limits` are by dimension: `{"tokens": {"hard": 1000, "soft": 800}}`.
        """
        new = NewBudget(
            id=new_id() if budget_id is None else budget_id,
            tenant=tenant,
            parent=parent,
            limits=limits,
            reset_ms=reset_ms,
            on_hard=OnHard(checks.one_of("on_hard", on_hard, list(OnHard))),
        )
        budget, is_new = await self._create(new)
        return budget, is_new or budget_id is None

    @abstractmethod
    async def _create(self, new: NewBudget) -> tuple[Budget, bool]:
        """Create a budget; return it and whether this call created it."""

    @abstractmethod
    async def get(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        """Return a budget with its usage."""

    @abstractmethod
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Budget], str | None]:
        """Return a page of budgets in the order of tenant and id, and the next cursor."""

    @abstractmethod
    async def set(
        self, budget_id: str, limits: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Budget:
        """Change limits by dimension: `{"tokens": {"hard": 2000}}`; None removes a limit.

        Limits that you omit keep their value. Waiting executions continue if the budget now
        allows it.
        """

    @abstractmethod
    async def reset(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        """Reset the usage to zero. Reservations stay."""

    @abstractmethod
    async def report(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Charge:
        """Charge usage, once per key: all of it, or nothing on a hard breach."""

    @abstractmethod
    async def reserve(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str,
        ttl_ms: int = DEFAULT_TTL_MS,
        tenant: str = DEFAULT_TENANT,
    ) -> Reservation:
        """Reserve amounts until they are settled or `ttl_ms` has passed, once per key."""

    @abstractmethod
    async def settle(
        self, budget_id: str, usage: Usage, *, key: str, tenant: str = DEFAULT_TENANT
    ) -> Charge:
        """Charge the usage of a reservation, once, and release the rest."""

    @abstractmethod
    async def breaches(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Sequence[Breach]:
        """Return the last 100 breaches, oldest first."""

    @abstractmethod
    async def spent(
        self, execution_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> dict[str, dict[str, int]]:
        """Return the spending of an execution, by dimension and budget, as its tenant knows it."""

    @abstractmethod
    async def total(self, tenant: str) -> dict[str, int]:
        """Return the total that the budgets of a tenant were ever charged, by dimension."""
