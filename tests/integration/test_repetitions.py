"""The same submission written differently is a repetition, not a conflict."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.errors import IdConflict, IdempotencyConflict, ScheduleConflict
from holdfast.model.executions import NewExecution
from holdfast.model.schedules import NewSchedule

pytestmark = pytest.mark.usefixtures("clock")

FIRST, AGAIN, OTHER = b'{"a": 1, "b": [2]}', b'{"b":[2.0],"a":1}', b'{"a": 1, "b": [3]}'


@pytest.mark.parametrize(
    ("name", "conflict"), [("id", IdConflict), ("idempotency_key", IdempotencyConflict)]
)
async def test_executions(engine: Engine, name: str, conflict: type[Exception]) -> None:
    """Under an id or a key; the input stays as it was sent first."""
    fields: dict[str, Any] = {name: "one"}
    first = await engine.submit("work", input=FIRST, **fields)
    again = await engine.submit("work", input=AGAIN, **fields)
    assert (again.id, again.duplicate) == (first.id, True)
    with pytest.raises(conflict):
        await engine.submit("work", input=OTHER, **fields)
    (batched,) = await engine.submit_many([NewExecution(kind="work", input=AGAIN, **fields)])
    assert getattr(batched, "duplicate", None)
    assert await engine.input(first.id) == FIRST


async def test_graphs(engine: Engine) -> None:
    """Their members' inputs."""

    def members(payload: bytes) -> dict[str, NewExecution]:
        return {"a": NewExecution(kind="work", input=payload)}

    first = await engine.graphs.submit(members(FIRST), idempotency_key="g")
    again = await engine.graphs.submit(members(AGAIN), idempotency_key="g")
    assert (again.id, again.duplicate) == (first.id, True)
    with pytest.raises(IdempotencyConflict):
        await engine.graphs.submit(members(OTHER), idempotency_key="g")


async def test_schedules(engine: Engine) -> None:
    """What they submit."""

    def plan(payload: bytes) -> NewSchedule:
        execution = NewExecution(kind="work", input=payload)
        return NewSchedule.from_fields({"id": "s", "every_ms": 60_000, "execution": execution})

    await engine.schedules.create(plan(FIRST))
    _, is_new = await engine.schedules.create(plan(AGAIN))
    assert not is_new
    with pytest.raises(ScheduleConflict):
        await engine.schedules.create(plan(OTHER))
