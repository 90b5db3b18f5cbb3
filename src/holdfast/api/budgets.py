"""Budgets: limits on what executions use, by any named dimension."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.api.rules import Rules
from holdfast.model.budgets import (
    Breach,
    Budget,
    Charge,
    OnHard,
    Reservation,
    Usage,
)
from holdfast.model.executions import Lease
from holdfast.model.names import DEFAULT_TENANT

DEFAULT_TTL_MS = 600_000


class Spending(ABC):
    """Charges by the holders of leases. Without a budget to charge they are all accepted."""

    @abstractmethod
    async def report(
        self,
        execution_id: str,
        lease: Lease,
        usage: Usage,
        *,
        key: str | None = None,
        budget: str | None = None,
    ) -> Charge:
        """Charge what an execution used to its budgets, or to one of them.

        With several budgets all are charged or none: amounts are reserved in each first. A hard
        breach of a budget that says so suspends or cancels the execution: see its `state`.
        """

    @abstractmethod
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
        """Set amounts aside in the budgets of an execution, in all of them or in none.

        A hard breach does to the execution what it does in `report`.
        """

    @abstractmethod
    async def settle(
        self,
        execution_id: str,
        lease: Lease,
        usage: Usage,
        *,
        key: str,
        budget: str | None = None,
    ) -> Charge:
        """Charge what was used of a reservation; the rest returns.

        It never suspends: what was set aside can always be charged.
        """


class Budgets(ABC):
    """Operations on budgets."""

    rules: Rules
    #: Charges by the holders of leases.
    spending: Spending

    @abstractmethod
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
        """Create a budget; returns it and whether it is new. Its id is minted if absent.

        `limits` are by dimension: `{"tokens": {"hard": 1000, "soft": 800}}`.
        """

    @abstractmethod
    async def get(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        """Return a budget with its usage."""

    @abstractmethod
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Budget], str | None]:
        """Return a page of budgets in the order of tenant and id, and the cursor to go on with."""

    @abstractmethod
    async def set(
        self, budget_id: str, limits: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Budget:
        """Change limits by dimension: `{"tokens": {"hard": 2000}}`; None removes a limit.

        What is not named stays. Executions that wait go on if something is left now.
        """

    @abstractmethod
    async def reset(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        """Start again: nothing is used. What is reserved stays so."""

    @abstractmethod
    async def report(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Charge:
        """Charge what was used, once per key: all of it, or nothing on a hard breach."""

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
        """Set amounts aside until they are settled or `ttl_ms` has passed, once per key."""

    @abstractmethod
    async def settle(
        self, budget_id: str, usage: Usage, *, key: str, tenant: str = DEFAULT_TENANT
    ) -> Charge:
        """Charge what was used of a reservation, once; the rest returns."""

    @abstractmethod
    async def breaches(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Sequence[Breach]:
        """Return the last 100 breaches, oldest first."""

    @abstractmethod
    async def spent(
        self, execution_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> dict[str, dict[str, int]]:
        """Return what an execution spent, by dimension and budget, as its tenant knows it."""

    @abstractmethod
    async def total(self, tenant: str) -> dict[str, int]:
        """Return what the budgets of a tenant were charged since the beginning, by dimension."""
