"""Ways to the answers of bulk actions."""

from __future__ import annotations

import httpx

from holdfast.model.bulk import LANE
from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request

START, ABORT = "POST /v1/bulk", "POST /v1/bulk/{id}/abort"


@way(200, START)
async def _counted(stage: Stage, name: str) -> Request:
    return await stage.request(name, dry_run=True)


@way("selection_changed", START)
async def _other_count(stage: Stage, name: str) -> Request:
    return await stage.request(name, expected=10**6)


@way("bulk_conflict", START)
async def _other_action(stage: Stage, name: str) -> Request:
    bulk_id = new_id()
    request = await stage.sent(await stage.request(name, id=bulk_id))
    return {**request, "json": {**request["json"], "filter": {"lane": "other"}}}


@way("id_conflict", START)
async def _taken(stage: Stage, name: str) -> Request:
    made = await stage.engine.submit("work", tenant=OURS, id=f"taken-{new_id()}")
    return await stage.request(name, id=made.id.partition("=")[2])


@way("lane_draining", START)
async def _draining(stage: Stage, name: str) -> httpx.Response:
    request = await stage.request(
        name,
    )
    await stage.engine.lanes.drain(LANE)
    try:
        return await stage.send(request)
    finally:
        await stage.engine.lanes.resume(LANE)


@way("bulk_not_found", *declaring("bulk_not_found"))
async def _nothing(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": "nothing"})


@way("already_terminal", ABORT)
async def _over(stage: Stage, name: str) -> Request:
    request = await stage.request(name)
    bulk_id = request["url"].split("/")[-2]
    lane = await stage.claim(LANE)
    while lane.id != bulk_id:
        await stage.engine.complete(lane.id, lane.lease)
        lane = await stage.claim(LANE)
    await stage.engine.complete(lane.id, lane.lease)
    return request
