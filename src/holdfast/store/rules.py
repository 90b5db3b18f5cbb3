"""Rules that attach limits to new executions: settings, held alike in every partition."""

from __future__ import annotations

import asyncio

from holdfast.model.quotas import Rule
from holdfast.model.records import limit_name
from holdfast.store.domain import Domain


class Rules(Domain):
    """Rules by tenant, lane, kind and tag."""

    async def set(self, rule: Rule, limit: str, *, wanted: bool) -> None:
        """Add or remove a rule everywhere; `limit` is as records hold it."""
        args = (rule.subject, rule.value, limit, "1" if wanted else "0")
        tags = self._store.tags()
        await asyncio.gather(*(self._call.write("hf_rule_set", tag, *args) for tag in tags))


def rules_of(settings: dict[str, str]) -> list[Rule]:
    """Find the rules in the settings."""
    found = []
    for name, limits in sorted(settings.items()):
        word, _, rest = name.partition("|")
        if word != "rule":
            continue
        subject, _, value = rest.partition("|")
        found += [
            Rule(
                subject=subject,  # type: ignore[arg-type]
                value=value,
                limit="budget" if limit.startswith("b:") else "quota",
                id=limit_name(limit),
            )
            for limit in limits.split("\n")
        ]
    return found
