"""Redaction rules of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from typing_extensions import override

from holdfast import api
from holdfast.model import bounds, checks
from holdfast.model.sight import EVERY_KIND, RedactionRule
from holdfast.store.redactions import Redactions as StoredRedactions
from holdfast.store.store import Store


@final
class Redactions(api.Redactions):
    """The redaction rules of a store."""

    def __init__(self, store: Store) -> None:
        self._rules = StoredRedactions(store)

    @override
    async def add(
        self, path: str, *, kind: str = EVERY_KIND, tenant: str | None = None
    ) -> RedactionRule:
        rule = RedactionRule(path=path, kind=kind, tenant=tenant)
        rules = await self._rules.list()
        if rule not in rules and len(rules) >= bounds.REDACTION_RULES:
            problem = f"cannot be added: there are {bounds.REDACTION_RULES} rules, remove one first"
            checks.refuse("path", problem, path)
        await self._rules.put(rule, wanted=True)
        return rule

    @override
    async def remove(self, path: str, *, kind: str = EVERY_KIND, tenant: str | None = None) -> None:
        await self._rules.put(RedactionRule(path=path, kind=kind, tenant=tenant), wanted=False)

    @override
    async def list(self, *, tenant: str | None = None) -> Sequence[RedactionRule]:
        if tenant is not None:
            checks.name("tenant", tenant)
        return [rule for rule in await self._rules.list() if rule.covers(tenant, None)]
