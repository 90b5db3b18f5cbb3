"""Rules: limits that new executions get by their tenant, lane, kind or tag."""

from __future__ import annotations

from typing import Literal

from holdfast.model import checks
from holdfast.model.quotas import Rule
from holdfast.store.limits import LimitRef
from holdfast.store.rules import rules_of
from holdfast.store.store import Store


class Rules:
    """Rules of one kind of limit. They hold for executions submitted after them."""

    def __init__(self, store: Store, limit: Literal["budget", "quota"]) -> None:
        self._store = store
        self._limit = limit

    async def attach(self, limit_id: str, **subject: str) -> Rule:
        """Add a rule for one of tenant=, lane=, kind= or tag=; it may be there already.

        Rules are about all tenants, so the limit of another tenant than `default` is named in
        full, as TENANT/NAME.

        Raises:
            BudgetNotFound, QuotaNotFound: there is nothing to attach.
        """
        rule = self._rule(limit_id, subject)
        if self._limit == "quota":
            await self._store.quotas.get(rule.id)
        await self._store.rules.set(rule, await self._address(rule), wanted=True)
        return rule

    async def detach(self, limit_id: str, **subject: str) -> Rule:
        """Remove a rule; executions that were submitted under it keep their limits."""
        rule = self._rule(limit_id, subject)
        await self._store.rules.set(rule, await self._address(rule), wanted=False)
        return rule

    async def list(self) -> list[Rule]:
        """Return all rules of this kind of limit."""
        found = rules_of(await self._store.lanes.settings())
        return [rule for rule in found if rule.limit == self._limit]

    def _rule(self, limit_id: str, subject: dict[str, str]) -> Rule:
        if len(subject) != 1:
            checks.refuse("rule", "must have one of tenant, lane, kind, tag", subject)
        ((word, value),) = subject.items()
        return Rule(subject=word, value=value, limit=self._limit, id=limit_id)  # type: ignore[arg-type]

    async def _address(self, rule: Rule) -> LimitRef:
        if rule.limit == "quota":
            return LimitRef.quota(rule.id)
        (address,) = await self._store.budgets.addresses([rule.id])
        return address
