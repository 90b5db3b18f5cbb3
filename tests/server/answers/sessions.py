"""Ways to the answers of conversations and sessions."""

from __future__ import annotations

from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, way
from tests.server.conftest import OURS
from tests.server.samples import Request, activity, conversation, conversing

SEND = "POST /v1/conversations/{name}/activities"
DELIVER = "POST /v1/conversations/{name}/deliver"
RESEND = "POST /v1/sessions/{id}/resend"
TALKING = (SEND, DELIVER)


@way(200, SEND)
async def _a_person_answers(stage: Stage, name: str) -> Request:
    session, talk = await conversing(stage.engine, OURS)
    await stage.engine.sessions.handover(session, "ann")
    return await stage.request(name, {"name": talk})


@way(202, SEND)
async def _nobody_answers(stage: Stage, name: str) -> Request:
    return await stage.request(name, wait_ms=0)


@way("conversation_not_found", *TALKING)
async def _nothing_published(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"name": "nothing"})


async def _spoken_to(stage: Stage, name: str, times: int, **about: object) -> Request:
    """Return a message for a conversation that has received this many, and answered none."""
    talk = await conversation(stage.engine, OURS, **about)
    for _ in range(times):
        await stage.engine.sessions.deliver(talk, activity(talk, OURS))
    return await stage.request(name, {"name": talk})


@way("session_busy", *TALKING)
async def _rejecting(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 1, conversation={"busy": "reject"})


@way("session_full", *TALKING)
async def _too_many(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 101)


@way("lane_draining", *TALKING)
async def _draining(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 0, options={"lane": await stage.draining()})


@way("revision_draining", *TALKING)
async def _closed(stage: Stage, name: str) -> Request:
    await stage.engine.store.needs.close(OURS, "closed")
    return await stage.request(name, revision="closed")


@way("budget_not_found", *TALKING)
async def _no_budget(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 0, options={"budgets": [f"b-{new_id()}"]})


@way("quota_not_found", *TALKING)
async def _no_quota(stage: Stage, name: str) -> Request:
    return await _spoken_to(stage, name, 0, options={"quotas": [f"q-{new_id()}"]})


@way(200, RESEND)
async def _dead(stage: Stage, name: str) -> Request:
    session, _ = await conversing(stage.engine, OURS)
    await stage.write("HSET", f"{stage.engine.store.tag_of(session)}:D:{session}", "2", "{}")
    return await stage.request(name, {"id": session})


@way("reply_not_found", RESEND)
async def _not_dead(stage: Stage, name: str) -> Request:
    session, _ = await conversing(stage.engine, OURS)
    return await stage.request(name, {"id": session})
