"""Rules: limits that new executions get by their tenant, lane, kind or tag."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from holdfast.model import checks
from holdfast.model.quotas import Rule


class Rules(ABC):
    """Rules of one kind of limit. They hold for executions submitted after them."""

    _limit: Literal["budget", "quota"]

    @abstractmethod
    async def attach(self, limit_id: str, **subject: str) -> Rule:
        """Add a rule for one of tenant=, lane=, kind= or tag=; it may be there already.

        Rules are about all tenants, so the limit of another tenant than `default` is named in
        full, as TENANT/NAME.

        Raises:
            BudgetNotFound, QuotaNotFound: there is nothing to attach.
        """

    @abstractmethod
    async def detach(self, limit_id: str, **subject: str) -> Rule:
        """Remove a rule; executions that were submitted under it keep their limits."""

    @abstractmethod
    async def list(self) -> list[Rule]:
        """Return all rules of this kind of limit."""

    def _rule(self, limit_id: str, subject: dict[str, str]) -> Rule:
        if len(subject) != 1:
            checks.refuse("rule", "must have one of tenant, lane, kind, tag", subject)
        ((word, value),) = subject.items()
        return Rule(subject=word, value=value, limit=self._limit, id=limit_id)  # type: ignore[arg-type]
