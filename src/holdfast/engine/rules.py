"""Rules: attach limits to new executions by tenant, lane, kind or tag."""

from __future__ import annotations

from typing import Literal

from typing_extensions import override

from holdfast import api
from holdfast.model.limit_refs import LimitRef
from holdfast.model.quotas import Rule
from holdfast.store.rules import rules_of
from holdfast.store.store import Store


class Rules(api.Rules):
    """The rules of one kind of limit. They apply to executions submitted after them."""

    def __init__(self, store: Store, limit: Literal["budget", "quota"]) -> None:
        self._store = store
        self._limit = limit

    @override
    async def attach(self, limit_id: str, **subject: str) -> Rule:
        rule = self._rule(limit_id, subject)
        if self._limit == "quota":
            await self._store.quotas.get(rule.id)
        await self._store.rules.set(rule, await self._address(rule), wanted=True)
        return rule

    @override
    async def detach(self, limit_id: str, **subject: str) -> Rule:
        rule = self._rule(limit_id, subject)
        await self._store.rules.set(rule, await self._address(rule), wanted=False)
        return rule

    @override
    async def list(self) -> list[Rule]:
        rules = rules_of(await self._store.lanes.settings())
        return [rule for rule in rules if rule.limit == self._limit]

    async def _address(self, rule: Rule) -> LimitRef:
        if rule.limit == "quota":
            return LimitRef.quota(rule.id)
        (address,) = await self._store.budgets.addresses([rule.id])
        return address
