"""Ways to the answers of schedules."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import httpx

from holdfast.errors import ScheduleNotFound
from holdfast.model.executions import NewExecution
from holdfast.model.ids import new_id
from holdfast.model.schedules import NewSchedule
from holdfast.model.timing import Timing
from tests.server.answers.recipes import Stage, about_nothing, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request

CREATE = "POST /v1/schedules"
CHANGE = "PATCH /v1/schedules/{id}"
TRIGGER = "POST /v1/schedules/{id}/trigger"

way("schedule_not_found", *(n for n in declaring("schedule_not_found") if n != CREATE))(
    about_nothing
)


async def _schedule(stage: Stage, **fields: Any) -> str:
    """Make a schedule of an execution with these fields."""
    execution = NewExecution(kind="work", tenant=OURS, **fields)
    plan = NewSchedule(id=new_id(), execution=execution, timing=Timing(every_ms=60_000))
    return (await stage.engine.schedules.create(plan))[0].id


@way(201, CREATE)
async def _new(stage: Stage, name: str) -> Request:
    return await stage.request(name, id=new_id())


@way(200, CREATE)
async def _twice(stage: Stage, name: str) -> Request:
    return await stage.sent(await stage.request(name, id=new_id()))


@way("schedule_not_found", CREATE)
async def _removed_meanwhile(stage: Stage, name: str) -> httpx.Response:
    """Just when it is read to be shown, which is the second time."""
    request = await _new(stage, name)

    async def remove() -> None:
        with contextlib.suppress(ScheduleNotFound):
            await stage.engine.schedules.delete(request["json"]["id"], tenant=OURS)

    with stage.meanwhile("hf_schedule_read", remove):
        return await stage.send(request)


@way("schedule_conflict", CREATE)
async def _other_content(stage: Stage, name: str) -> Request:
    return await stage.request(name, id=await _schedule(stage))


@way("budget_not_found", CREATE, CHANGE)
async def _no_budget(stage: Stage, name: str) -> Request:
    return await _with_execution(stage, name, budgets=["nothing"])


@way("quota_not_found", CREATE, CHANGE)
async def _no_quota(stage: Stage, name: str) -> Request:
    return await _with_execution(stage, name, quotas=["nothing"])


async def _with_execution(stage: Stage, name: str, **fields: Any) -> Request:
    return await stage.request(name, execution={"kind": "work", **fields})


@way("schedule_changed", CHANGE)
async def _all_the_time(stage: Stage, name: str) -> httpx.Response:
    schedule_id = await _schedule(stage)
    kinds = (f"work-{n}" for n in itertools.count())

    async def change_it() -> None:
        execution = NewExecution(kind=next(kinds), tenant=OURS)
        await stage.engine.schedules.update(schedule_id, {"execution": execution}, tenant=OURS)

    with stage.meanwhile("hf_schedule_put", change_it):
        return await stage.send(await stage.request(name, {"id": schedule_id}))


@way("lane_draining", TRIGGER)
async def _draining(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": await _schedule(stage, lane=await stage.draining())})


@way("revision_draining", TRIGGER)
async def _closed(stage: Stage, name: str) -> Request:
    await stage.engine.store.needs.close(OURS, "closed")
    return await stage.request(name, {"id": await _schedule(stage, requires=("rev:closed",))})


@way("budget_not_found", TRIGGER)
async def _without_its_budget(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": await _schedule(stage, budgets=("nothing",))})


@way("quota_not_found", TRIGGER)
async def _without_its_quota(stage: Stage, name: str) -> Request:
    quota, _ = await stage.engine.quotas.create(tenant=OURS, max_concurrent=1)
    schedule_id = await _schedule(stage, quotas=(quota.id,))
    await stage.engine.quotas.delete(quota.id, tenant=OURS)
    return await stage.request(name, {"id": schedule_id})


@way("id_conflict", TRIGGER)
async def _changed_since(stage: Stage, name: str) -> Request:
    """The key stands for an execution that the schedule no longer describes."""
    schedule_id = await _schedule(stage)
    request = await stage.sent(await stage.request(name, {"id": schedule_id}))
    execution = NewExecution(kind="another", tenant=OURS)
    await stage.engine.schedules.update(schedule_id, {"execution": execution}, tenant=OURS)
    return request
