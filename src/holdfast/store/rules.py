"""Rules that attach limits to new executions: settings, which every partition has."""

from __future__ import annotations

import asyncio

from holdfast.model.limit_refs import LimitRef, parse_all
from holdfast.model.quotas import Rule
from holdfast.store.domain import Domain


class Rules(Domain):
    """Rules by tenant, lane, kind and tag."""

    async def set(self, rule: Rule, limit: LimitRef, *, wanted: bool) -> None:
        """Add or remove a rule in every partition."""
        args = (rule.subject, rule.value, limit.encode(), "1" if wanted else "0")
        tags = self._store.tags()
        await asyncio.gather(*(self._once("hf_rule_set", tag, *args) for tag in tags))


def rules_of(settings: dict[str, str]) -> list[Rule]:
    """Find the rules in the settings."""
    rules = []
    for name, limits in sorted(settings.items()):
        word, _, rest = name.partition("|")
        if word != "rule":
            continue
        subject, _, value = rest.partition("|")
        rules += [
            Rule(
                subject=subject,  # type: ignore[arg-type]
                value=value,
                limit=limit.kind,
                id=limit.name,
            )
            for limit in parse_all(limits)
        ]
    return rules
