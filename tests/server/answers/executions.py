"""Ways to the answers of executions, and of what operators do to them."""

from __future__ import annotations

from holdfast.model.executions import NewExecution
from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, by_example, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request

CREATE = "POST /v1/executions"
RESULT = "GET /v1/executions/{id}/result"
CANCEL = "POST /v1/executions/{id}/cancel"
REPLAY = "POST /v1/executions/{id}/replay"
REVOKE = "POST /v1/executions/{id}/revoke-lease"
PRIORITY = "PUT /v1/executions/{id}/priority"

# A sample waits.
way("result_not_ready", RESULT)(by_example)
way("not_terminal", REPLAY)(by_example)
way("not_active", REVOKE)(by_example)


@way(200, CREATE)
async def _twice(stage: Stage, name: str) -> Request:
    return await stage.sent(await stage.request(name, id=new_id()))


@way("id_conflict", CREATE)
async def _other_content(stage: Stage, name: str) -> Request:
    made = await stage.engine.submit("another", tenant=OURS)
    return await stage.request(name, id=made.id)


@way("idempotency_conflict", CREATE)
async def _other_content_of_a_key(stage: Stage, name: str) -> Request:
    key = new_id()
    await stage.engine.submit("another", tenant=OURS, idempotency_key=key)
    return await stage.request(name, idempotency_key=key)


@way("lane_draining", CREATE)
async def _draining(stage: Stage, name: str) -> Request:
    return await stage.request(name, lane=await stage.draining())


@way("revision_draining", CREATE)
async def _closed(stage: Stage, name: str) -> Request:
    await stage.engine.store.needs.close(OURS, "closed")
    return await stage.request(name, requires=["rev:closed"])


@way("parent_ended", CREATE)
async def _orphan(stage: Stage, name: str) -> Request:
    return await stage.request(name, id=f"{await stage.ended()}~0.1", on_parent_end="cancel")


@way("budget_not_found", CREATE)
async def _no_budget(stage: Stage, name: str) -> Request:
    return await stage.request(name, budgets=["nothing"])


@way("quota_not_found", CREATE)
async def _no_quota(stage: Stage, name: str) -> Request:
    return await stage.request(name, quotas=["nothing"])


_ON_EXECUTIONS = [name for name in declaring("already_terminal") if "/v1/executions" in name]


@way(200, RESULT, REPLAY)
@way("already_terminal", *_ON_EXECUTIONS)
async def _ended(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": await stage.ended()})


@way("step_not_found", REPLAY)
async def _no_step(stage: Stage, name: str) -> Request:
    path = {"id": await stage.ended()}
    return await stage.request(name, path, keep_steps=False, from_step="nothing")


@way("replay_limit", REPLAY)
async def _never_again(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": await stage.ended(max_replays=0)})


@way("member_of_graph", REPLAY)
async def _member(stage: Stage, name: str) -> Request:
    members = {"only": NewExecution(kind="k", tenant=OURS)}
    graph = await stage.engine.graphs.submit(members, tenant=OURS)
    await stage.engine.graphs.cancel(graph.id)
    return await stage.request(name, {"id": graph.members["only"]})


@way(200, REVOKE)
async def _running(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": (await stage.claimed()).id})
