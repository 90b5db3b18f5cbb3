"""Ways to the answers of rehearsals."""

from __future__ import annotations

from holdfast.model.deployments import DeploymentRef
from tests.server.answers.recipes import Stage, way
from tests.server.conftest import OURS
from tests.server.samples import FLOW_ENV, Request, conversing, flow_session

MOMENT = "GET /v1/sessions/{id}/moment"
REHEARSE = "POST /v1/sessions/{id}/rehearse"


@way("flow_not_found", MOMENT, REHEARSE)
async def _of_workers(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": (await conversing(stage.engine, OURS))[0]})


@way("pack_not_found", MOMENT, REHEARSE)
async def _its_pack_is_gone(stage: Stage, name: str) -> Request:
    session = await flow_session(stage.engine, OURS)
    revision = (await stage.engine.sessions.get(session)).revision or ""
    await stage.engine.sessions.end(session)
    ref = DeploymentRef(env=FLOW_ENV, id=revision, tenant=OURS)
    archived = await stage.engine.deployments.archive(ref, revision)
    await stage.engine.packs.delete(archived.digest or "", tenant=OURS)
    return await stage.request(name, {"id": session})
