"""What a worker publishes of its app: a description of each task, with what the code declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from holdfast.model import declared_limits

if TYPE_CHECKING:
    from holdfast.worker.app import App


def descriptions(app: App) -> dict[str, dict[str, Any]]:
    """Describe the tasks of an app, each with its schedules and the limits that it names.

    Limits that no task names are distributed over all descriptions, so that the doctor knows them.
    """
    described = {name: task.describe() for name, task in app.tasks.items()}
    for name, description in described.items():
        plans = app.schedules.values()
        description["schedules"] = sorted(p.id for p in plans if p.execution.kind == name)
    unnamed = _unnamed_limits(app)
    for description in described.values():
        named = description.get("limits", [])
        room = declared_limits.MOST - len(named)
        further = [limit for _, limit in zip(range(room), unnamed, strict=False)]
        if further:
            description["limits"] = [*named, *further]
    return described


def _unnamed_limits(app: App) -> Iterator[dict[str, Any]]:
    named = {
        (limit.noun, limit.id)
        for task in app.tasks.values()
        for limit in app.limits.named_by(task.template)
    }
    return (limit.view() for limit in app.limits if (limit.noun, limit.id) not in named)
