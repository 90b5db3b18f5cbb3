"""Ways to the answers of rehearsals, and of differences."""

from __future__ import annotations

from holdfast.model.deployments import DeploymentRef
from tests.server.answers.recipes import Stage, way
from tests.server.conftest import OURS
from tests.server.samples import FLOW_ENV, Request, conversing, flow_session

MOMENT = "GET /v1/sessions/{id}/moment"
REHEARSE = "POST /v1/sessions/{id}/rehearse"
DIFF = "GET /v1/envs/{env}/deployments/{d}/revisions/{r}/diff"


@way("flow_not_found", MOMENT, REHEARSE)
async def _of_workers(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": (await conversing(stage.engine, OURS))[0]})


async def _without_pack(stage: Stage) -> tuple[str, str]:
    """Make a session whose pack is gone; returns it and its revision."""
    session = await flow_session(stage.engine, OURS)
    revision = (await stage.engine.sessions.get(session)).revision or ""
    await stage.engine.sessions.end(session)
    ref = DeploymentRef(env=FLOW_ENV, id=revision, tenant=OURS)
    archived = await stage.engine.deployments.archive(ref, revision)
    await stage.engine.packs.delete(archived.digest or "", tenant=OURS)
    return session, revision


@way("pack_not_found", MOMENT, REHEARSE)
async def _its_pack_is_gone(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": (await _without_pack(stage))[0]})


@way("pack_not_found", DIFF)
async def _the_pack_is_gone(stage: Stage, name: str) -> Request:
    _, revision = await _without_pack(stage)
    return await stage.request(name, {"env": FLOW_ENV, "d": revision, "r": revision})
