"""Ways to the answers of graphs."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast.model.executions import Failure, NewExecution
from holdfast.model.graphs import SubmittedGraph, member_id
from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, by_example, way
from tests.server.conftest import OURS
from tests.server.samples import Request

CREATE = "POST /v1/graphs"
GROW = "POST /v1/graphs/{id}/members"
LINK = "POST /v1/graphs/{id}/edges"
CANCEL = "POST /v1/graphs/{id}/cancel"
REPLAY = "POST /v1/graphs/{id}/replay"

way("graph_not_finished", REPLAY)(by_example)


async def _graph(stage: Stage, lane: str = "default", **fields: Any) -> SubmittedGraph:
    """Make a graph of two members that wait for nothing."""
    members = {key: NewExecution(kind="k", tenant=OURS, lane=lane) for key in ("fetch", "parse")}
    return await stage.engine.graphs.submit(members, tenant=OURS, **fields)


def _member(**fields: Any) -> list[dict[str, Any]]:
    return [{"key": "fetch", "kind": "k"}, {"key": "parse", "kind": "k", **fields}]


@way(200, CREATE)
async def _twice(stage: Stage, name: str) -> Request:
    return await stage.sent(await stage.request(name, id=new_id()))


@way(200, LINK)
async def _apart(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": (await _graph(stage)).id})


@way("invalid_graph", CREATE, GROW, LINK)
async def _to_nothing(stage: Stage, name: str) -> Request:
    return await stage.request(name, edges=[{"from": "fetch", "to": "nothing"}], **_no_joins(name))


@way("cycle_detected", CREATE, LINK)
async def _cycle(stage: Stage, name: str) -> Request:
    edges = [{"from": "fetch", "to": "parse"}, {"from": "parse", "to": "fetch"}]
    path = None if name == CREATE else {"id": (await _graph(stage)).id}
    return await stage.request(name, path, edges=edges, **_no_joins(name))


@way("cycle_detected", GROW)
async def _cycle_of_new_ones(stage: Stage, name: str) -> Request:
    return await stage.request(name, edges=[{"from": "store", "to": "store"}])


def _no_joins(name: str) -> dict[str, Any]:
    return {"joins": {}} if name == CREATE else {}


def _another(name: str, **fields: Any) -> dict[str, Any]:
    """Return the members of a request, of which one is special."""
    members = _member(**fields) if name == CREATE else [{"key": "store", "kind": "k", **fields}]
    return {"members": members}


@way("lane_draining", CREATE, GROW)
async def _draining(stage: Stage, name: str) -> Request:
    return await stage.request(name, **_another(name, lane=await stage.draining()))


@way("parent_ended", CREATE)
async def _orphan(stage: Stage, name: str) -> Request:
    return await stage.request(name, id=f"{await stage.ended()}~0.g1", on_parent_end="cancel")


@way("budget_not_found", CREATE, GROW)
async def _no_budget(stage: Stage, name: str) -> Request:
    return await stage.request(name, **_another(name, budgets=["nothing"]))


@way("quota_not_found", CREATE, GROW)
async def _no_quota(stage: Stage, name: str) -> Request:
    return await stage.request(name, **_another(name, quotas=["nothing"]))


@way("id_conflict", CREATE)
async def _other_content(stage: Stage, name: str) -> Request:
    return await stage.request(name, id=(await _graph(stage)).id)


@way("id_conflict", GROW)
async def _id_of_another(stage: Stage, name: str) -> Request:
    graph = await _graph(stage)
    await stage.engine.submit("k", tenant=OURS, id=member_id(graph.id, "store"))
    return await stage.request(name, {"id": graph.id})


@way("idempotency_conflict", CREATE)
async def _other_content_of_a_key(stage: Stage, name: str) -> Request:
    key = new_id()
    await _graph(stage, idempotency_key=key)
    return await stage.request(name, idempotency_key=key)


@way("staging_lost", CREATE)
async def _collected(stage: Stage, name: str) -> httpx.Response:
    """A graph that is too large for one call is collected before it is complete, every time."""
    members = [{"key": f"m{n}", "kind": "k"} for n in range(101)]
    request = await stage.request(name, members=members, edges=[], joins={})

    async def wait_too_long() -> None:
        await stage.clock.advance_and_tick(60_000)

    with stage.meanwhile("hf_graph_create", wait_too_long):
        return await stage.send(request)


@way("graph_finished", GROW, LINK, CANCEL)
async def _finished(stage: Stage, name: str) -> Request:
    graph = await _graph(stage)
    await stage.engine.graphs.cancel(graph.id)
    return await stage.request(name, {"id": graph.id})


@way("stale_graph_revision", GROW, LINK)
async def _another_version(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": (await _graph(stage)).id}, expected_revision=2)


@way("member_started", GROW, LINK)
async def _started(stage: Stage, name: str) -> Request:
    lane = f"lane-{new_id()}"
    graph = await _graph(stage, lane)
    claim = await stage.claim(lane)
    started = claim.id.removeprefix(member_id(graph.id, ""))
    source = {"fetch": "parse", "parse": "fetch"}[started] if name == LINK else "store"
    return await stage.request(name, {"id": graph.id}, edges=[{"from": source, "to": started}])


async def _ended(stage: Stage, failure: Failure | None = None) -> dict[str, str]:
    """Return a graph whose members have all completed, or failed."""
    lane = f"lane-{new_id()}"
    graph = await _graph(stage, lane)
    for _ in graph.members:
        claim = await stage.claim(lane)
        if failure is None:
            await stage.engine.complete(claim.id, claim.lease)
        else:
            await stage.engine.fail(claim.id, claim.lease, failure)
    return {"id": graph.id}


@way(200, REPLAY)
async def _failed(stage: Stage, name: str) -> Request:
    failure = Failure(type="E", message="m", retryable=False)
    return await stage.request(name, await _ended(stage, failure))


@way("nothing_to_replay", REPLAY)
async def _completed(stage: Stage, name: str) -> Request:
    return await stage.request(name, await _ended(stage))
