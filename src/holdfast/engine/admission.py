"""Admission: a claim of executions with limits asks these before it leases.

Budgets first, because they take nothing: an execution waits while one is used up. Then quotas:
those that share a partition admit in one call, all or none; more partitions are asked one after
the other in a fixed order, and what the first ones gave returns when a later one refuses. A
partition that does not answer in time admits nobody.
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

#: Shorter than a grant, so that what was admitted can still be used.
ASK_TIMEOUT_S = 2.0
#: When to ask again a partition that did not answer.
_ASK_AGAIN_MS = 1_000
_MOST_REMEMBERED = 100_000

_Asked = list[tuple[Grant, list[LimitRef]]]


class Admission:
    """Claims, with the limits asked."""

    def __init__(self, store: Store, courier: Courier) -> None:
        self._store = store
        self._courier = courier
        #: Admitted here: whoever ends them carries the release over at once.
        self._admitted: dict[tuple[str, int], None] = {}

    async def claim(self, tag: str, wanted: Wanted) -> tuple[list[Claim], int]:
        """Lease what is ready and admitted; returns also how many were looked at."""
        claims, grants = await self._store.executions.take(tag, wanted)
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
        """Say that an execution is no longer active; others may have its place now."""
        if self._admitted:
            key = (execution_id, lease.epoch)
            if key in self._admitted:
                del self._admitted[key]
                self._courier.poke(self._store.tag_of(execution_id))

    async def _ask(self, grants: Sequence[Grant]) -> dict[Grant, Verdict]:
        """Return who is not admitted, and why."""
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
                    # It may be an ancestor, which has the same root.
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
                        # Those that were not asked yet may have promised it room.
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
        """Return which partitions to ask, in the order in which everybody asks them."""
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
                # The id of a claim would not do: it has asked for other partitions, too.
                answers = await self._store.quotas.admit(tag, new_id(), items)
        except (HoldfastError, TimeoutError):
            # It may have admitted them, so it is told that they did not start.
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
