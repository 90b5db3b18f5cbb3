"""Ways to the answers of resubmissions."""

from __future__ import annotations

from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, way
from tests.server.conftest import OURS
from tests.server.samples import Request

RESUBMIT = "POST /v1/executions/{id}/resubmit"


@way(200, RESUBMIT)
async def _again(stage: Stage, name: str) -> Request:
    return await stage.sent(await stage.request(name, id=f"copy-{new_id()}"))


@way("id_conflict", RESUBMIT)
async def _other_content(stage: Stage, name: str) -> Request:
    request = await stage.sent(await stage.request(name, id=f"copy-{new_id()}"))
    return {**request, "json": {**request["json"], "input": "other"}}


@way("lane_draining", RESUBMIT)
async def _to_a_draining_lane(stage: Stage, name: str) -> Request:
    return await stage.request(name, lane=await stage.draining())


@way("quota_not_found", RESUBMIT)
async def _with_a_quota_that_is_gone(stage: Stage, name: str) -> Request:
    quota, _ = await stage.engine.quotas.create(tenant=OURS, max_concurrent=1)
    made = await stage.engine.submit("k", tenant=OURS, quotas=[quota.id])
    await stage.engine.cancel(made.id)
    await stage.engine.quotas.delete(quota.id, tenant=OURS)
    return await stage.request(name, {"id": made.id})
