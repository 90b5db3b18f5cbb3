"""Short ways to schedules, for tests."""

from __future__ import annotations

from typing import Any

from holdfast.model.executions import NewExecution
from holdfast.model.listing import Filter
from holdfast.model.moments import from_ms
from holdfast.model.schedules import NewSchedule, Schedule
from holdfast.store.schedules import Step
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS

HOUR_MS = 3_600_000


def plan(schedule_id: str = "daily", **fields: Any) -> NewSchedule:
    """Make a schedule of every hour, unless the fields say otherwise."""
    execution = fields.pop("execution", NewExecution(kind="work"))
    if not {"cron", "every_ms", "at"} & fields.keys():
        fields["cron"] = "0 * * * *"
    return NewSchedule.from_fields({"id": schedule_id, "execution": execution, **fields})


async def put(store: Store, made: NewSchedule, next_ms: int | None = START_MS) -> Schedule:
    """Put a new schedule into the store; its first tick is the start of the clock."""
    assert await store.schedules.put(made, None, next_ms) == "created"
    return await read(store, made.stored_id)


async def read(store: Store, schedule_id: str) -> Schedule:
    """Return a schedule that is there."""
    _, found = await store.schedules.read(schedule_id)
    assert found is not None
    return found


def known(made: NewSchedule, next_ms: int | None = None) -> Schedule:
    """Return a schedule that was just created."""
    return Schedule(
        plan=made,
        version=1,
        next_ms=next_ms,
        created_at=from_ms(START_MS),
        changed_at=from_ms(START_MS),
        last_ms=None,
        last_execution=None,
        fired=0,
        skipped=0,
        missed=0,
        running=0,
        queued=0,
        error=None,
    )


def step(hour: int, **fields: Any) -> Step:
    """The step from an hour to the next."""
    tick = START_MS + hour * HOUR_MS
    return Step(**{"start": tick, "tick": tick, "next": tick + HOUR_MS, **fields})


async def fired(store: Store, schedule_id: str = "daily") -> list[str]:
    """Return the ids of what a schedule has fired, oldest first."""
    page = await store.queries.list_executions(Filter(tag=("schedule", schedule_id)), 1000, None)
    return [execution.id for execution in reversed(page.items)]
