"""Spending from a task: `ctx.budget`.

async with ctx.budget.reserve(tokens=2000) as r:
    answer = await model(prompt)
    r.settle(tokens=answer.tokens)
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.errors import BudgetExceeded, LeaseLost
from holdfast.model import names
from holdfast.model.budgets import Charge, OnHard, Usage, checked_usage
from holdfast.model.executions import Claim
from holdfast.model.ids import id_of_key, new_id
from holdfast.model.states import State
from holdfast.worker.durations import Duration, to_ms
from holdfast.worker.outcomes import AttemptLost, AttemptSuspended

if TYPE_CHECKING:
    from holdfast.api import Budgets
    from holdfast.worker.context import Context

T = TypeVar("T")
C = TypeVar("C", bound=Charge)

_TEN_MINUTES = 600.0


class Reserved:
    """Reserved amounts; `settle` says how much of them was used."""

    def __init__(self, amounts: Usage) -> None:
        #: The reserved amounts.
        self.amounts: Usage = amounts
        self.used: Usage | None = None

    def settle(self, usage: Mapping[str, int] | None = None, **amounts: int) -> None:
        """Set the amounts that were used: the end of the block charges them and returns the rest.

        Without it the block is charged what it reserved, or nothing if it raises.
        """
        self.used = checked_usage({**(usage or {}), **amounts})


class ContextBudget:
    """The spending of a running execution. Without a budget, every charge is accepted."""

    def __init__(self, context: Context, budgets: Budgets) -> None:
        self._context = context
        self._spending = budgets.spending

    @property
    def _claim(self) -> Claim:
        return self._context.claim

    async def report(
        self,
        usage: Mapping[str, int] | None = None,
        *,
        key: str | None = None,
        budget: str | None = None,
        **amounts: int,
    ) -> Charge:
        """Charge what was used: `await ctx.budget.report(tokens=120)`.

        A key is charged once, even if a later attempt reports it again. Without a key every call
        is charged. `budget` selects one of several budgets.

        Raises:
            BudgetExceeded: the charge would exceed a hard limit; nothing was charged.
        """
        spent = checked_usage({**(usage or {}), **amounts})
        own_key = self._key(key)
        return await self._charge(
            lambda: self._spending.report(
                self._claim.id, self._claim.lease, spent, key=own_key, budget=budget
            )
        )

    @contextlib.asynccontextmanager
    async def reserve(
        self,
        usage: Mapping[str, int] | None = None,
        *,
        key: str | None = None,
        budget: str | None = None,
        ttl: Duration = _TEN_MINUTES,
        **amounts: int,
    ) -> AsyncIterator[Reserved]:
        """Set amounts aside for a block, which says with `settle` what it used of them.

        If the worker dies, they return after `ttl`.

        Raises:
            BudgetExceeded: the amounts would exceed a hard limit.
        """
        wanted = checked_usage({**(usage or {}), **amounts})
        own_key = self._key(key)
        await self._charge(
            lambda: self._spending.reserve(
                self._claim.id,
                self._claim.lease,
                wanted,
                key=own_key,
                ttl_ms=to_ms("ttl", ttl),
                budget=budget,
            )
        )
        reserved = Reserved(wanted)
        try:
            yield reserved
        except (AttemptLost, AttemptSuspended):
            # Write nothing more; the reservation expires on its own.
            raise
        except BaseException:
            await self._settle(reserved.used or dict.fromkeys(wanted, 0), wanted, own_key, budget)
            raise
        used = wanted if reserved.used is None else reserved.used
        await self._settle(used, wanted, own_key, budget)

    async def _settle(self, used: Usage, wanted: Usage, key: str, budget: str | None) -> None:
        claim, settle = self._claim, self._spending.settle
        charge = await self._ask(settle(claim.id, claim.lease, used, key=key, budget=budget))
        if not charge.accepted:
            # More was used than reserved, and the rest exceeds the limit: charge what fits.
            with contextlib.suppress(LeaseLost):
                await settle(claim.id, claim.lease, wanted, key=key, budget=budget)
        self._accepted(charge)

    async def _charge(self, call: Callable[[], Coroutine[Any, Any, C]]) -> C:
        """Make a charge. One that suspends the execution ends the attempt here."""
        # Buffered frames cannot be sent without the lease.
        await self._context.flush()
        charge = await self._ask(call())
        if charge.state is State.SUSPENDED:
            raise AttemptSuspended(f"waits for a higher limit of budget {charge.budget}")
        return self._accepted(charge)

    def _key(self, key: str | None) -> str:
        """Return a key that is the same in every attempt, or a new one."""
        claim = self._claim
        if key is None:
            return new_id()
        execution = names.stored_id(claim.tenant, claim.id)
        return id_of_key(claim.tenant, f"{execution}:{claim.run}:{key}")

    async def _ask(self, call: Coroutine[Any, Any, C]) -> C:
        try:
            self._context.check()
        except BaseException:
            call.close()
            raise
        try:
            return await call
        except LeaseLost as error:
            self._context.lose()
            raise AttemptLost(str(error)) from error

    def _accepted(self, charge: C) -> C:
        if charge.accepted:
            return charge
        exceeded = _exceeded(charge)
        if charge.on_hard is OnHard.CANCEL:
            self._context.lose()
            raise AttemptLost(str(exceeded))
        raise exceeded


def _exceeded(charge: Charge) -> BudgetExceeded:
    message = f"budget {charge.budget} has no {charge.dimension} left: {charge.current} of "
    message += f"{charge.limit} are used or reserved"
    return BudgetExceeded(
        message,
        budget=charge.budget,
        dimension=charge.dimension,
        current=charge.current,
        limit=charge.limit,
    )


class SyncContextBudget:
    """The spending of a `def` task: calls block."""

    def __init__(
        self, budget: ContextBudget, wait: Callable[[Coroutine[Any, Any, Any]], Any]
    ) -> None:
        self._budget = budget
        self._wait = wait

    def report(
        self,
        usage: Mapping[str, int] | None = None,
        *,
        key: str | None = None,
        budget: str | None = None,
        **amounts: int,
    ) -> Charge:
        """Charge what was used; raises BudgetExceeded if that would exceed a hard limit."""
        call = self._budget.report(usage, key=key, budget=budget, **amounts)
        charge: Charge = self._wait(call)
        return charge

    @contextlib.contextmanager
    def reserve(
        self,
        usage: Mapping[str, int] | None = None,
        *,
        key: str | None = None,
        budget: str | None = None,
        ttl: Duration = _TEN_MINUTES,
        **amounts: int,
    ) -> Iterator[Reserved]:
        """Set amounts aside for a block, which says with `settle` what it used of them."""
        block = self._budget.reserve(usage, key=key, budget=budget, ttl=ttl, **amounts)
        reserved: Reserved = self._wait(block.__aenter__())
        try:
            yield reserved
        except BaseException as error:
            self._wait(_leave(block, error))
            raise
        self._wait(_leave(block, None))


async def _leave(
    block: contextlib.AbstractAsyncContextManager[Reserved], error: BaseException | None
) -> None:
    if error is None:
        await block.__aexit__(None, None, None)
    else:
        await block.__aexit__(type(error), error, error.__traceback__)
