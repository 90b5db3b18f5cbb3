"""Admission: a claim asks the budgets and quotas of executions before it leases them.

Budgets come first, because asking them takes nothing: an execution waits while one is used up.
Quotas follow: those that share a partition admit in one call, all or none. Several partitions are
asked one after the other in a fixed order; if one refuses, the earlier ones get their slots back. A
partition that does not answer in time admits nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from holdfast.engine.courier import Courier
from holdfast.errors import HoldfastError
from holdfast.model.executions import Claim, Lease
from holdfast.model.ids import new_id
from holdfast.model.limit_refs import LimitRef
from holdfast.store.grants import Grant, Verdict, Wanted
from holdfast.store.store import Store

#: Shorter than a grant, so that an admission can still be used.
ASK_TIMEOUT_S = 2.0
#: When to ask a partition again that did not answer.
_ASK_AGAIN_MS = 1_000
_MOST_REMEMBERED = 100_000

_Asked = list[tuple[Grant, list[LimitRef]]]


class Admission:
    """Claims executions after asking their limits."""

    def __init__(self, store: Store, courier: Courier) -> None:
        self._store = store
        self._courier = courier
        #: Executions admitted here; when one ends, its release is delivered immediately.
        self._admitted: dict[tuple[str, int], None] = {}

    async def claim(self, tag: str, wanted: Wanted) -> tuple[list[Claim], int]:
        """Lease ready, admitted executions; also returns how many were examined."""
        claims, grants = await self._store.executions.claim(tag, wanted)
        if not grants:
            return claims, len(claims)
        held = await self._ask(grants)
        verdicts = [(grant, held.get(grant)) for grant in grants]
        admitted = await self._store.executions.activate(tag, wanted, verdicts)
        if any(verdict.touched for verdict in held.values()):
            self._courier.poke(tag)
        for claim in admitted:
            self._admitted[claim.key] = None
        while len(self._admitted) > _MOST_REMEMBERED:
            del self._admitted[next(iter(self._admitted))]
        return claims + admitted, len(claims) + len(grants)

    def ended(self, execution_id: str, lease: Lease) -> None:
        """Report that an execution is no longer active, so that its slots become free."""
        if self._admitted:
            key = (execution_id, lease.epoch)
            if key in self._admitted:
                del self._admitted[key]
                self._courier.poke(self._store.tag_of(execution_id))

    async def _ask(self, grants: Sequence[Grant]) -> dict[Grant, Verdict]:
        """Return the executions that are not admitted, and why."""
        held = await self._ask_budgets(grants)
        rest = [grant for grant in grants if grant not in held]
        return held | await self._ask_quotas(rest)

    async def _ask_budgets(self, grants: Sequence[Grant]) -> dict[Grant, Verdict]:
        held: dict[Grant, Verdict] = {}
        by_tag: dict[str, dict[Grant, dict[str, LimitRef]]] = {}
        for grant in grants:
            for budget in grant.of("budget"):
                tag = self._store.limit_tag(budget)
                by_tag.setdefault(tag, {}).setdefault(grant, {})[budget.id] = budget

        async def ask(tag: str, asked: dict[Grant, dict[str, LimitRef]]) -> None:
            items = [(g.execution_id, g.epoch, list(budgets)) for g, budgets in asked.items()]
            try:
                async with asyncio.timeout(ASK_TIMEOUT_S):
                    answers = await self._store.budgets.admit(tag, items)
            except (HoldfastError, TimeoutError):
                for grant, budgets in asked.items():
                    held[grant] = _unreachable(next(iter(budgets.values())))
                return
            for (grant, budgets), used_up in zip(asked.items(), answers, strict=True):
                if used_up is not None:
                    # The limit may be an ancestor, which has the same root.
                    first = next(iter(budgets.values()))
                    blocker = budgets.get(used_up) or first.ancestor(used_up)
                    held[grant] = Verdict(blocker=blocker)

        await asyncio.gather(*(ask(tag, asked) for tag, asked in by_tag.items()))
        return held

    async def _ask_quotas(self, grants: Sequence[Grant]) -> dict[Grant, Verdict]:
        held: dict[Grant, Verdict] = {}
        plans = {grant: self._plan(grant) for grant in grants}
        admitted: dict[Grant, list[LimitRef]] = {grant: [] for grant in grants}
        for number in range(max(map(len, plans.values()), default=0)):
            calls: dict[str, _Asked] = {}
            for grant, plan in plans.items():
                if number < len(plan) and grant not in held:
                    tag, quotas = plan[number]
                    calls.setdefault(tag, []).append((grant, quotas))
            rounds = (self._admit(tag, asked) for tag, asked in calls.items())
            for verdicts in await asyncio.gather(*rounds):
                for grant, quotas, verdict in verdicts:
                    if verdict is not None:
                        # Quotas that were not asked yet may have promised it a slot.
                        unasked = [one for _, later in plans[grant][number + 1 :] for one in later]
                        touched = (*admitted[grant], *verdict.touched, *unasked)
                        held[grant] = Verdict(
                            blocker=verdict.blocker,
                            retry_at=verdict.retry_at,
                            after_ms=verdict.after_ms,
                            touched=touched,
                        )
                    admitted[grant] += quotas
        return held

    def _plan(self, grant: Grant) -> list[tuple[str, list[LimitRef]]]:
        """Return the partitions to ask, in the order that every process uses."""
        by_tag: dict[str, list[LimitRef]] = {}
        for quota in grant.of("quota"):
            by_tag.setdefault(self._store.limit_tag(quota), []).append(quota)
        return sorted(by_tag.items())

    async def _admit(
        self, tag: str, asked: _Asked
    ) -> list[tuple[Grant, list[LimitRef], Verdict | None]]:
        items = [
            (grant.execution_id, grant.epoch, [quota.name for quota in quotas])
            for grant, quotas in asked
        ]
        answers: Sequence[tuple[str, int | None] | Verdict | None]
        try:
            async with asyncio.timeout(ASK_TIMEOUT_S):
                # The id of the claim would be wrong here: other partitions were asked with it, too.
                answers = await self._store.quotas.admit(tag, new_id(), items)
        except (HoldfastError, TimeoutError):
            # The partition may have admitted them, so report that they did not start.
            answers = [_unreachable(quotas[0], tuple(quotas)) for _, quotas in asked]
        return [
            (grant, quotas, _verdict(answer))
            for (grant, quotas), answer in zip(asked, answers, strict=True)
        ]


def _verdict(answer: tuple[str, int | None] | Verdict | None) -> Verdict | None:
    if isinstance(answer, tuple):
        name, retry_at = answer
        return Verdict(blocker=LimitRef.quota(name), retry_at=retry_at)
    return answer


def _unreachable(blocker: LimitRef, touched: tuple[LimitRef, ...] = ()) -> Verdict:
    after_ms = _ASK_AGAIN_MS + random.randrange(_ASK_AGAIN_MS)  # noqa: S311
    return Verdict(blocker=blocker, after_ms=after_ms, touched=touched)
