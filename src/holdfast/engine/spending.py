"""Spending: executions charge the budgets that apply to them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from typing_extensions import override

from holdfast import api
from holdfast.api.budgets import DEFAULT_TTL_MS
from holdfast.engine.asking import Asking
from holdfast.engine.courier import Courier
from holdfast.errors import AlreadyTerminal, BudgetNotFound, LeaseLost
from holdfast.model import names
from holdfast.model.budgets import Charge, ChargeStatus, Expense, OnHard, Reservation
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.store.store import Store

C = TypeVar("C", bound=Charge)


class Spending(api.Spending):
    """Charges by the holders of leases. Without a budget to charge, every charge is accepted."""

    def __init__(
        self,
        store: Store,
        courier: Courier,
        cancel: Callable[[str, str], Awaitable[None]],
        asking: Asking,
    ) -> None:
        self._store = store
        self._courier = courier
        self._cancel = cancel
        self._asking = asking

    @override
    async def _report(self, expense: Expense) -> Charge:
        try:
            tenant, ids = await self._budgets(expense)
        except LeaseLost:
            asked = await self._asking.asked(expense.execution_id, expense.lease, expense.key)
            if asked is None:
                raise
            return asked
        if not ids:
            return Charge(status=ChargeStatus.OK)

        async def charge() -> Charge:
            if len(ids) == 1:
                return await self._store.budgets.report(
                    ids[0], expense.usage, expense.key, expense.execution_id
                )
            answer = await self._reserve_in(ids, expense, DEFAULT_TTL_MS)
            return await self._settle_in(ids, expense) if answer.accepted else answer

        return await self._insist(expense, tenant, charge)

    @override
    async def _reserve(self, expense: Expense, ttl_ms: int) -> Reservation:
        try:
            tenant, ids = await self._budgets(expense)
        except LeaseLost:
            asked = await self._asking.asked(expense.execution_id, expense.lease, expense.key)
            if asked is None:
                raise
            return Reservation(**{name: getattr(asked, name) for name in Charge.__slots__})
        if not ids:
            return Reservation(status=ChargeStatus.OK)
        return await self._insist(expense, tenant, lambda: self._reserve_in(ids, expense, ttl_ms))

    @override
    async def _settle(self, expense: Expense) -> Charge:
        tenant, ids = await self._budgets(expense)
        if not ids:
            return Charge(status=ChargeStatus.OK)
        charge = await self._settle_in(ids, expense)
        return await self._obey(expense.execution_id, tenant, charge)

    async def _budgets(self, expense: Expense) -> tuple[str, tuple[str, ...]]:
        """Return the tenant of an execution and the stored names of the budgets to charge."""
        tenant, attached = await self._store.leases.check(expense.execution_id, expense.lease)
        if expense.budget is None:
            return tenant, attached
        stored = names.stored(tenant, expense.budget)
        if stored not in attached:
            message = f"execution {expense.execution_id} does not charge budget {expense.budget}"
            raise BudgetNotFound(message, id=expense.budget)
        return tenant, (stored,)

    async def _reserve_in(self, ids: Sequence[str], expense: Expense, ttl_ms: int) -> Reservation:
        """Reserve in each budget, or in none; returns the first breach."""
        taken: list[str] = []
        # Another process may work on a repetition of the same charge, and be accepted.
        asker = new_id()
        answer = Reservation(status=ChargeStatus.OK)
        for budget_id in ids:
            answer = await self._store.budgets.reserve(
                budget_id,
                expense.usage,
                expense.key,
                ttl_ms,
                expense.execution_id,
                asker=asker,
            )
            if not answer.accepted:
                await asyncio.gather(*(self._give_back(one, expense.key, asker) for one in taken))
                return answer
            taken.append(budget_id)
        return answer

    async def _give_back(self, budget_id: str, key: str, asker: str) -> None:
        await self._store.budgets.unreserve(budget_id, key, asker)
        self._courier.poke(await self._store.budgets.tag(budget_id))

    async def _settle_in(self, ids: Sequence[str], expense: Expense) -> Charge:
        """Settle in each budget; returns the first breach."""
        answer = Charge(status=ChargeStatus.ALREADY_APPLIED)
        for budget_id in ids:
            charge = await self._store.budgets.settle(
                budget_id, expense.usage, expense.key, expense.execution_id
            )
            self._courier.poke(await self._store.budgets.tag(budget_id))
            if not charge.accepted:
                return charge
            if answer.status is not ChargeStatus.SOFT_BREACH:
                answer = charge
        return answer

    async def _insist(self, expense: Expense, tenant: str, charge: Callable[[], Awaitable[C]]) -> C:
        """Charge; if the charge is refused and the budget says so, ask for more."""
        execution_id = expense.execution_id
        answer = await charge()
        if answer.on_hard is OnHard.SUSPEND and not answer.accepted:
            # More may have been granted just now: apply that answer before asking again.
            await self._courier.deliver(self._store.tag_of(execution_id))
            answer = await charge()
        if answer.on_hard is OnHard.SUSPEND and not answer.accepted:
            answer = await self._asking.ask(
                execution_id, tenant, expense.lease, answer, expense.key
            )
            return seen_by(tenant, answer)
        return await self._obey(execution_id, tenant, answer)

    async def _obey(self, execution_id: str, tenant: str, charge: C) -> C:
        """Cancel an execution that would exceed a hard limit, if the budget says so.

        Returns the answer with the budget as the tenant of the execution knows it.
        """
        charge = seen_by(tenant, charge)
        if charge.accepted or charge.on_hard is not OnHard.CANCEL:
            return charge
        reason = f"budget {charge.budget}: no {charge.dimension} left (limit {charge.limit})"
        with contextlib.suppress(AlreadyTerminal):
            await self._cancel(execution_id, reason)
        return replace(charge, state=State.CANCELLED)


def seen_by(tenant: str, charge: C) -> C:
    """Return an answer with the budget as a tenant knows it."""
    if charge.budget is None:
        return charge
    return replace(charge, budget=names.seen(charge.budget, tenant))
