"""Quotas and budgets that are declared in code; workers create the missing ones when they start."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.api import Engine
from holdfast.errors import Conflict, Forbidden, NotFound, TaskError
from holdfast.model.declared_limits import DeclaredLimit
from holdfast.model.executions import NewExecution
from holdfast.worker.durations import Duration, optional_ms

if TYPE_CHECKING:
    from holdfast.worker.app import App

log: logging.Logger = logging.getLogger(__name__)

#: How an operator creates one.
_COMMANDS = {
    "quota": "holdfast quotas create {id} --max-concurrent N",
    "budget": "holdfast budgets create {id} --hard DIMENSION=AMOUNT",
}


class DeclaredLimits:
    """The quotas and budgets of an app, by kind and id."""

    def __init__(self) -> None:
        self._declared: dict[tuple[str, str], DeclaredLimit] = {}

    def __iter__(self) -> Iterator[DeclaredLimit]:
        return iter(self._declared.values())

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._declared

    def add_quota(
        self, quota_id: str, concurrent: int | None, starts: int | None, per: Duration | None
    ) -> str:
        """Declare a quota; returns its id."""
        fields: dict[str, Any] = {
            "max_concurrent": concurrent,
            "max_per_window": starts,
            "window_ms": optional_ms("per", per),
        }
        return self._add(DeclaredLimit(noun="quota", id=quota_id, fields=fields))

    def add_budget(
        self,
        budget_id: str,
        hard: Mapping[str, int],
        soft: Mapping[str, int],
        reset: Duration | None,
        on_hard: str,
    ) -> str:
        """Declare a budget; returns its id."""
        limits: dict[str, dict[str, int]] = {}
        for name, amounts in (("hard", hard), ("soft", soft)):
            for dimension, amount in amounts.items():
                limits.setdefault(dimension, {})[name] = amount
        fields: dict[str, Any] = {
            "limits": limits,
            "reset_ms": optional_ms("reset", reset),
            "on_hard": on_hard,
        }
        return self._add(DeclaredLimit(noun="budget", id=budget_id, fields=fields))

    def named_by(self, template: NewExecution) -> Iterator[DeclaredLimit]:
        """Yield the declared limits that executions of a task are under."""
        named = _named_by(template)
        return (self._declared[key] for key in named if key in self._declared)

    def _add(self, limit: DeclaredLimit) -> str:
        if (limit.noun, limit.id) in self:
            message = f"two {limit.noun}s are called {limit.id!r}: give one of them another name"
            raise TaskError(message, id=limit.id)
        self._declared[limit.noun, limit.id] = limit
        return limit.id


async def create_limits(app: App) -> None:
    """Create declared limits that are missing; warn of undeclared ones that tasks name."""
    for limit in app.limits:
        await _create(app.engine, limit)
    for task in app.tasks.values():
        for noun, limit_id in _named_by(task.template):
            if (noun, limit_id) not in app.limits and not await _exists(app.engine, noun, limit_id):
                command = _COMMANDS[noun].format(id=limit_id)
                log.warning(
                    "task %s names the %s %s, which does not exist, so its submissions are "
                    "refused: create it with `%s`, or declare it with app.%s(...)",
                    *(task.name, noun, limit_id, command, noun),
                )


def _named_by(template: NewExecution) -> list[tuple[str, str]]:
    quotas = [("quota", name) for name in template.quotas]
    return quotas + [("budget", name) for name in template.budgets]


async def _create(engine: Engine, limit: DeclaredLimit) -> None:
    """Create a limit if it does not exist; an existing one stays as it is."""
    if await _exists(engine, limit.noun, limit.id):
        return
    limits: Any = engine.quotas if limit.noun == "quota" else engine.budgets
    try:
        await limits.create(limit.id, **limit.fields)
    except Conflict:
        # Another worker, or an operator, created it a moment earlier.
        return
    except Forbidden:
        log.warning(
            "the %s %s does not exist, and the API key of this worker may not create it: "
            "ask an operator to run `%s`",
            *(limit.noun, limit.id, _COMMANDS[limit.noun].format(id=limit.id)),
        )


async def _exists(engine: Engine, noun: str, limit_id: str) -> bool:
    limits: Any = engine.quotas if noun == "quota" else engine.budgets
    try:
        await limits.get(limit_id)
    except NotFound:
        return False
    return True
