"""Ways to the answers of activities: messages to a deployment of an app or a pack."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast.host import packs
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.ids import new_id
from holdfast.model.revisions import Gate
from tests.server.answers.open_calls import two_that_wait
from tests.server.answers.recipes import HANDLE, Stage, way
from tests.server.conftest import OURS
from tests.server.samples import Request, conversation
from tests.support.packs import pack_of

ACTIVITY = {"conversation": "c", "user": "ann", "payload": {"text": "hello"}}


async def _routed(stage: Stage, **about: Any) -> str:
    """Make a deployment that routes to a revision, and return its id."""
    name = f"d-{new_id()}"
    upload = about.pop("pack", None)
    new = NewDeployment(
        env="local",
        id=name,
        tenant=OURS,
        pack=None if upload is None else upload.id,
        app=None if upload else await conversation(stage.engine, OURS, **about),
    )
    made, _ = await stage.engine.deployments.create(new)
    if upload is not None:
        await stage.engine.packs.put(upload, tenant=OURS)
    digest = None if upload is None else upload.digest
    await stage.engine.deployments.stage(made.ref, revision_id=f"r-{name}", digest=digest)
    seen = await stage.engine.deployments.warm(made.ref, f"r-{name}")
    gates = [Gate(name="loads", passed=True)]
    await stage.engine.deployments.judge(made.ref, f"r-{name}", gates, seen=seen.version)
    entries = [SplitEntry(revision=f"r-{name}", weight_bps=10_000)]
    await stage.engine.deployments.set_split(made.ref, entries, expected_generation=0)
    return name


async def _to(stage: Stage, name: str, deployment: str, **changes: Any) -> Request:
    path = {"env": "local", "tenant": OURS}
    return await stage.request(name, path, deployment=deployment, **changes)


async def _spoken_to(stage: Stage, name: str, times: int, **about: Any) -> Request:
    """Return a message for a deployment that has received this many, and answered none."""
    made = await _routed(stage, **about)
    for _ in range(times):
        activity = NewActivity(
            tenant=OURS, conversation="c", user="ann", payload=b'{"text":"hello"}'
        )
        await stage.engine.activities.handle(activity, deployment=made, wait_ms=0)
    return await _to(stage, name, made, activity=ACTIVITY)


@way(200, HANDLE)
async def _a_person_answers(stage: Stage, name: str) -> Request:
    made = await _routed(stage)
    activity = NewActivity(tenant=OURS, conversation="c", user="ann", payload=b"{}")
    answer = await stage.engine.activities.handle(activity, deployment=made, wait_ms=0)
    await stage.engine.sessions.handover(answer.session, "ann")
    return await _to(stage, name, made, activity=ACTIVITY)


@way(202, HANDLE)
async def _nobody_answers(stage: Stage, name: str) -> Request:
    return await _to(stage, name, await _routed(stage), wait_ms=0)


@way("ambiguous_deployment", HANDLE)
async def _several(stage: Stage, name: str) -> Request:
    await _routed(stage)
    await _routed(stage)
    request = await stage.request(name, {"env": "local", "tenant": OURS})
    body = {key: value for key, value in request["json"].items() if key != "deployment"}
    return {**request, "json": body}


@way("revision_not_found", HANDLE)
async def _no_revision(stage: Stage, name: str) -> Request:
    return await _to(stage, name, await _routed(stage), revision="nothing")


@way("revision_not_ready", HANDLE)
async def _no_split(stage: Stage, name: str) -> Request:
    new = NewDeployment(env="local", id=f"d-{new_id()}", tenant=OURS, app="talk")
    made, _ = await stage.engine.deployments.create(new)
    return await _to(stage, name, made.id)


@way("revision_draining", HANDLE)
async def _closed(stage: Stage, name: str) -> Request:
    made = await _routed(stage)
    await stage.engine.store.needs.close(OURS, f"r-{made}")
    return await _to(stage, name, made)


@way("conversation_not_found", HANDLE)
async def _nothing_published(stage: Stage, name: str) -> Request:
    made = await _routed(stage)
    found = await stage.engine.deployments.get(DeploymentRef(env="local", id=made, tenant=OURS))
    tasks = f"{stage.engine.store.global_tag}:tasks"
    await stage.write("HDEL", tasks, f"{OURS}|{found.app}")
    stage.engine.store.declarations.forget()
    return await _to(stage, name, made)


@way("session_busy", HANDLE)
async def _rejecting(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 1, conversation={"busy": "reject"})


@way("session_full", HANDLE)
async def _too_many(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 101)


@way("lane_draining", HANDLE)
async def _draining(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 0, options={"lane": await stage.draining()})


@way("budget_not_found", HANDLE)
async def _no_budget(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 0, options={"budgets": [f"b-{new_id()}"]})


@way("quota_not_found", HANDLE)
async def _no_quota(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 0, options={"quotas": [f"q-{new_id()}"]})


@way("rate_limited", HANDLE)
async def _waiting(stage: Stage, name: str) -> httpx.Response:
    request = await _to(stage, name, await _routed(stage), wait_ms=5_000)
    return await two_that_wait(stage, request)


async def _two_flows(stage: Stage) -> str:
    files = {"pack.yaml": b"id: duo\nversion: 1.0.0\n"}
    for flow in ("one", "two"):
        text = f"id: {flow}\nnodes: {{a: {{emit: {{text: Hi.}}, out: end}}}}\n"
        files[f"flows/{flow}.yaml"] = text.encode()
    return await _routed(stage, pack=packs.upload_of(packs.build(pack_of(files))))


@way("ambiguous_flow", HANDLE)
async def _no_entry(stage: Stage, name: str) -> Request:
    return await _to(stage, name, await _two_flows(stage))


@way("flow_not_found", HANDLE)
async def _no_flow(stage: Stage, name: str) -> Request:
    return await _to(stage, name, await _two_flows(stage), activity={**ACTIVITY, "flow": "three"})
