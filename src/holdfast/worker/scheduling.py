"""Schedules that are declared with their tasks; workers write them to the store when they start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from holdfast.errors import TaskError
from holdfast.model.schedules import CatchUp, NewSchedule, Overlap
from holdfast.model.timing import Timing
from holdfast.worker.durations import Duration, optional_ms, to_ms
from holdfast.worker.task import Task


class ScheduleFields(TypedDict, total=False):
    """The arguments of `@app.schedule`."""

    #: Five fields: minute, hour, day of month, month, day of week.
    cron: str
    #: Seconds or a timedelta.
    every: Duration
    #: Once.
    at: datetime
    #: For cron, such as "Europe/Berlin".
    timezone: str
    #: The start of the first interval.
    start_at: datetime
    #: The default is the task's name.
    id: str
    #: The arguments of the task, by name.
    args: Mapping[str, Any]
    #: Ticks that were missed: none, one, or all of them.
    catch_up: CatchUp
    catch_up_limit: int
    #: While an earlier execution has not ended: allow, skip, or queue.
    overlap: Overlap
    #: Every tick fires up to this much later.
    jitter: Duration


_PASSED_ON = ("catch_up", "catch_up_limit", "overlap")


def declare(task: Any, fields: ScheduleFields) -> NewSchedule:
    """Return the schedule of a task."""
    if not isinstance(task, Task):
        raise TaskError(
            "put @app.schedule above @app.task: it applies to a task, not to a function"
        )
    timing = Timing(
        cron=fields.get("cron"),
        every_ms=optional_ms("every", fields.get("every")),
        at=fields.get("at"),
        timezone=fields.get("timezone", "UTC"),
        start_at=fields.get("start_at"),
    )
    options = {name: fields[name] for name in _PASSED_ON if name in fields}  # type: ignore[literal-required]
    return NewSchedule(
        id=fields.get("id", task.name.replace("/", ".")),
        execution=task.item(fields.get("args", {})),
        timing=timing,
        jitter_ms=to_ms("jitter", fields.get("jitter", 0)),
        **options,
    )
