"""Admission: a claim asks the budgets and quotas of executions before it hands them out.

Most are leased already when their limits are asked, so those that are admitted need no other call.
Those that are refused are held back, and their leases are void; if this process dies before that,
they expire. Executions that were held back once, or are particular otherwise, have grants, and are
leased when they are admitted.

Budgets come first, because asking them takes nothing: an execution waits while one is used up.
Quotas follow: those that share a partition admit in one call, all or none. Several partitions are
asked one after the other in a fixed order; if one refuses, the earlier ones get their slots back. A
partition that does not answer in time admits nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from holdfast.engine.courier import Courier
from holdfast.errors import HoldfastError
from holdfast.model.executions import Claim, Lease
from holdfast.model.ids import new_id
from holdfast.model.limit_refs import LimitRef, parse_all
from holdfast.store.grants import Grant, Verdict, Wanted
from holdfast.store.store import Store

#: Shorter than a grant, so that an admission can still be used.
ASK_TIMEOUT_S = 2.0
#: When to ask a partition again that did not answer.
_ASK_AGAIN_MS = 1_000
_MOST_REMEMBERED = 100_000

_MOST_PLANS = 10_000


class _Plan(NamedTuple):
    """Which limits to ask about executions, by the tag of their partition."""

    budgets: list[tuple[str, list[LimitRef]]]
    #: In the order that every process uses.
    quotas: list[tuple[str, list[LimitRef]]]

    def all_quotas(self) -> tuple[LimitRef, ...]:
        """Return the quotas of all partitions."""
        return tuple(quota for _, quotas in self.quotas for quota in quotas)


#: Executions that follow each other and have the same limits.
_Group = tuple[_Plan, list[Grant]]


class Admission:
    """Claims executions after asking their limits."""

    def __init__(self, store: Store, courier: Courier) -> None:
        self._store = store
        self._courier = courier
        #: Executions admitted here; when one ends, its release is delivered immediately.
        self._admitted: dict[tuple[str, int], None] = {}
        #: By the limits of executions, in stored form.
        self._plans: dict[str, _Plan] = {}

    async def claim(self, tag: str, wanted: Wanted) -> tuple[list[Claim], int]:
        """Lease ready, admitted executions; also returns how many were examined."""
        start = asyncio.get_running_loop().time()
        claims, grants = await self._store.executions.claim(tag, wanted)
        if not grants:
            return claims, len(claims)
        looked_at = len(claims) + len(grants)
        held = await self._ask(grants)
        leased = [g.claim for g in grants if g.claim and g.execution_id not in held]
        if (asyncio.get_running_loop().time() - start) * 1000 >= wanted.lease_ms:
            # The leases may have expired, and what was admitted under them is released.
            leased = []
        claims += leased
        self._remember(leased)
        verdicts = [
            (grant, held.get(grant.execution_id))
            for grant in grants
            if grant.claim is None or grant.execution_id in held
        ]
        if verdicts:
            try:
                admitted = await self._store.executions.activate(tag, wanted, verdicts)
            except HoldfastError:
                # The leases that this claim has must not be lost; grants and leases of others end.
                if not claims:
                    raise
            else:
                claims += admitted
                self._remember(admitted)
            if any(verdict.touched for verdict in held.values()):
                self._courier.poke(tag)
        return claims, looked_at

    def _remember(self, admitted: Sequence[Claim]) -> None:
        # Budgets have nothing to give back.
        self._admitted.update((claim.key, None) for claim in admitted if claim.quotas)
        while len(self._admitted) > _MOST_REMEMBERED:
            del self._admitted[next(iter(self._admitted))]

    def ended(self, execution_id: str, lease: Lease) -> None:
        """Report that an execution is no longer active, so that its slots become free."""
        if self._admitted:
            key = (execution_id, lease.epoch)
            if key in self._admitted:
                del self._admitted[key]
                self._courier.poke(self._store.tag_of(execution_id))

    def _plan(self, limits: str) -> _Plan:
        plan = self._plans.get(limits)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[limits] = self._plan_of(parse_all(limits))
        return plan

    def _plan_of(self, limits: Sequence[LimitRef]) -> _Plan:
        budgets: dict[str, list[LimitRef]] = {}
        quotas: dict[str, list[LimitRef]] = {}
        for limit in limits:
            by_tag = quotas if limit.kind == "quota" else budgets
            by_tag.setdefault(self._store.limit_tag(limit), []).append(limit)
        return _Plan(list(budgets.items()), sorted(quotas.items()))

    async def _ask(self, grants: Sequence[Grant]) -> dict[str, Verdict]:
        """Return the ids of executions that are not admitted, and why."""
        # Those next to each other have the same limits more often than not; the order stays.
        runs = groupby(grants, key=attrgetter("limits"))
        groups = [(self._plan(limits), list(members)) for limits, members in runs]
        held = await self._ask_budgets(groups)
        return _touching(groups, held) | await self._ask_quotas(_without(groups, held))

    async def _ask_budgets(self, groups: Sequence[_Group]) -> dict[str, Verdict]:
        held: dict[str, Verdict] = {}
        by_tag: dict[str, list[tuple[list[LimitRef], list[Grant]]]] = {}
        for plan, members in groups:
            for tag, budgets in plan.budgets:
                by_tag.setdefault(tag, []).append((budgets, members))

        async def ask(tag: str, asked: Sequence[tuple[list[LimitRef], list[Grant]]]) -> None:
            pairs = [(grant, budgets) for budgets, members in asked for grant in members]
            items = [(g.execution_id, g.epoch, [b.id for b in budgets]) for g, budgets in pairs]
            try:
                async with asyncio.timeout(ASK_TIMEOUT_S):
                    answers = await self._store.budgets.admit(tag, items)
            except (HoldfastError, TimeoutError):
                held.update((g.execution_id, _later(budgets[0])) for g, budgets in pairs)
                return
            if not any(answers):
                return
            for (grant, budgets), used_up in zip(pairs, answers, strict=True):
                if used_up is not None:
                    # The limit may be an ancestor, which has the same root.
                    known = (budget for budget in budgets if budget.id == used_up)
                    blocker = next(known, None) or budgets[0].ancestor(used_up)
                    other = held.get(grant.execution_id)
                    # It waits for one of them, and must not stay in the lines of the others.
                    touched = () if other is None else (other.blocker, *other.touched)
                    held[grant.execution_id] = Verdict(blocker=blocker, touched=touched)

        await asyncio.gather(*(ask(tag, asked) for tag, asked in by_tag.items()))
        return held

    async def _ask_quotas(self, groups: Sequence[_Group]) -> dict[str, Verdict]:
        held: dict[str, Verdict] = {}
        for number in range(max((len(plan.quotas) for plan, _ in groups), default=0)):
            by_tag: dict[str, list[_Group]] = {}
            for plan, members in _without(groups, held):
                if number < len(plan.quotas):
                    by_tag.setdefault(plan.quotas[number][0], []).append((plan, members))
            rounds = (self._admit(tag, asked, number) for tag, asked in by_tag.items())
            for refused in await asyncio.gather(*rounds):
                held |= refused
        return held

    async def _admit(self, tag: str, asked: Sequence[_Group], number: int) -> dict[str, Verdict]:
        """Ask the quotas that are next in the plans; returns the executions not admitted."""
        items: list[tuple[str, int, list[str]]] = []
        for plan, members in asked:
            names = [quota.name for quota in plan.quotas[number][1]]
            items += [(grant.execution_id, grant.epoch, names) for grant in members]
        answers: Sequence[tuple[str, int | None] | None]
        try:
            async with asyncio.timeout(ASK_TIMEOUT_S):
                # The id of the claim would be wrong here: other partitions were asked with it, too.
                answers = await self._store.quotas.admit(tag, new_id(), items)
        except (HoldfastError, TimeoutError):
            # The partition may have admitted them, so report that they did not start.
            return {
                grant.execution_id: _later(plan.quotas[number][1][0], plan.all_quotas())
                for plan, members in asked
                for grant in members
            }
        if not any(answers):
            return {}
        plans = (plan for plan, members in asked for _ in members)
        held: dict[str, Verdict] = {}
        for (execution_id, *_), plan, answer in zip(items, plans, answers, strict=True):
            if answer is not None:
                # Those before admitted it, those after may have promised it a slot.
                others = [quotas for n, (_, quotas) in enumerate(plan.quotas) if n != number]
                touched = tuple(quota for quotas in others for quota in quotas)
                name, retry_at = answer
                blocker = LimitRef.quota(name)
                if retry_at == 0:
                    # It does not stand in line, as one does that has the id of a forgotten one.
                    held[execution_id] = _later(blocker, touched)
                    continue
                held[execution_id] = Verdict(blocker=blocker, retry_at=retry_at, touched=touched)
        return held


def _without(groups: Sequence[_Group], held: Mapping[str, Verdict]) -> Sequence[_Group]:
    """Return groups without the executions that are held back; most often there are none."""
    if not held:
        return groups
    return [
        (plan, [grant for grant in members if grant.execution_id not in held])
        for plan, members in groups
    ]


def _touching(groups: Sequence[_Group], held: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Return the verdicts of budgets, with the quotas that may have admitted a lease before.

    A claim that is repeated asks again, and a budget does not know whom it has let in.
    """
    verdicts = dict(held)
    for plan, members in groups if held else ():
        quotas = plan.all_quotas()
        for grant in members:
            if quotas and grant.claim is not None and grant.execution_id in held:
                verdict = held[grant.execution_id]
                touched = (*verdict.touched, *quotas)
                verdicts[grant.execution_id] = replace(verdict, touched=touched)
    return verdicts


def _later(blocker: LimitRef, touched: tuple[LimitRef, ...] = ()) -> Verdict:
    after_ms = _ASK_AGAIN_MS + random.randrange(_ASK_AGAIN_MS)  # noqa: S311
    return Verdict(blocker=blocker, after_ms=after_ms, touched=touched)
