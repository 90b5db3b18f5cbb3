"""Rules: limits that apply to new executions by tenant, lane, kind or tag."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from holdfast.model import checks
from holdfast.model.quotas import Rule


class Rules(ABC):
    """Rules of one kind of limit. They apply to executions submitted after them."""

    _limit: Literal["budget", "quota"]

    @abstractmethod
    async def attach(self, limit_id: str, **subject: str) -> Rule:
        """Add a rule for one of tenant=, lane=, kind= or tag=. Safe to repeat.

        Rules affect all tenants, so name the limit of a tenant other than `default` in full, as
        TENANT/NAME.

        Raises:
            BudgetNotFound, QuotaNotFound: the limit does not exist.
        """

    @abstractmethod
    async def detach(self, limit_id: str, **subject: str) -> Rule:
        """Remove a rule. Executions submitted under it keep the limit."""

    @abstractmethod
    async def list(self) -> list[Rule]:
        """Return all rules of this kind of limit."""

    def _rule(self, limit_id: str, subject: dict[str, str]) -> Rule:
        if len(subject) != 1:
            checks.refuse("rule", "must have one of tenant, lane, kind, tag", subject)
        ((word, value),) = subject.items()
        return Rule(subject=word, value=value, limit=self._limit, id=limit_id)  # type: ignore[arg-type]
