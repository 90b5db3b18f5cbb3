"""Ways to the answers of waitpoints, signals, and the keys that sign tokens."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast.model.ids import new_id
from holdfast.model.waitpoints import NewWaitpoint, Waitpoint, parse_waitpoint_id
from tests.server.answers.open_calls import until_limited
from tests.server.answers.recipes import ROUTES, Stage, by_example, way
from tests.server.conftest import OURS
from tests.server.samples import Request, values_of

READ = "GET /v1/executions/{id}/waitpoints/{wp}/token"
REVOKE = "POST /v1/executions/{id}/waitpoints/{wp}/revoke"
RESUME = "POST /v1/executions/{id}/resume"
SIGNAL = "POST /v1/signals/{waitpoint}"
QUESTION = "POST /v1/signals/{waitpoint}/read"
SIGNALS = "POST /v1/signals:batch"
ROTATE = "POST /v1/admin/keyring/rotate"

# The sample of an execution is not suspended; the example of a token is forged.
way("not_suspended", RESUME)(by_example)
way("invalid_token", SIGNAL, QUESTION)(by_example)


@way("waitpoint_not_found", READ, REVOKE)
async def _no_waitpoint(stage: Stage, name: str) -> Request:
    values = await values_of(ROUTES[name], stage.engine, OURS)
    return await stage.request(name, {**values, "wp": f"{values['id']}~w2"})


@way("execution_not_found", READ, REVOKE)
async def _no_execution(stage: Stage, name: str) -> Request:
    """A caller who may see all is told that there is no such waitpoint."""
    return await stage.request(name, {"id": "nothing", "wp": "nothing~w1"})


@way("waitpoint_closed", READ)
async def _closed(stage: Stage, name: str) -> Request:
    values = await values_of(ROUTES[name], stage.engine, OURS)
    await stage.engine.waitpoints.revoke(values["wp"])
    return await stage.request(name, values)


@way("signal_not_allowed", READ)
async def _of_nobody(stage: Stage, name: str) -> Request:
    point = await _prepared(stage, answerers=("ann",), personal=True)
    return await stage.request(name, {"id": point.execution_id, "wp": point.id})


@way(200, RESUME)
async def _suspended(stage: Stage, name: str) -> Request:
    claim = await stage.claimed()
    await stage.engine.waitpoints.suspend(
        claim.id, claim.lease, [NewWaitpoint(name="mail")], {"waitpoint": "mail"}
    )
    return await stage.request(name, {"id": claim.id})


async def _prepared(stage: Stage, **fields: Any) -> Waitpoint:
    claim = await stage.claimed()
    point = NewWaitpoint(name="mail", **fields)
    (made,) = await stage.engine.waitpoints.prepare(claim.id, claim.lease, [point])
    return made


async def _signal(stage: Stage, point: Waitpoint, **changes: Any) -> Request:
    assert point.token is not None
    fields = {"token": point.token.reveal(), **changes}
    return await stage.request(SIGNAL, {"waitpoint": point.id}, **fields)


async def _question(stage: Stage, point: Waitpoint) -> Request:
    assert point.token is not None
    return await stage.request(QUESTION, {"waitpoint": point.id}, token=point.token.reveal())


@way(200, SIGNAL)
async def _allowed(stage: Stage, _name: str) -> Request:
    return await _signal(stage, await _prepared(stage))


@way(200, SIGNALS)
async def _all_allowed(stage: Stage, name: str) -> Request:
    point = await _prepared(stage)
    one = await _signal(stage, point)
    return await stage.request(name, items=[{**one["json"], "waitpoint": point.id}])


@way(200, QUESTION)
async def _readable(stage: Stage, _name: str) -> Request:
    return await _question(stage, await _prepared(stage))


@way("token_expired", SIGNAL, QUESTION)
async def _of_a_retired_key(stage: Stage, name: str) -> Request:
    point = await _prepared(stage)
    await stage.engine.keyring.rotate(grace_ms=0)
    return await (_signal if name == SIGNAL else _question)(stage, point)


@way("signal_not_allowed", SIGNAL)
async def _another_name(stage: Stage, _name: str) -> Request:
    return await _signal(stage, await _prepared(stage, signals=("deny",)))


@way("invalid_payload", SIGNAL)
async def _another_form(stage: Stage, _name: str) -> Request:
    return await _signal(stage, await _prepared(stage, schema={"type": "string"}))


@way("waitpoint_closed", SIGNAL)
async def _too_late(stage: Stage, _name: str) -> Request:
    point = await _prepared(stage)
    await stage.engine.waitpoints.revoke(point.id)
    return await _signal(stage, point)


@way("token_used_up", SIGNAL)
async def _once_more(stage: Stage, _name: str) -> Request:
    point = await _prepared(stage, uses=1)
    await stage.sent(await _signal(stage, point))
    return await _signal(stage, point, idempotency_key=new_id())


@way("too_many_signals", SIGNAL)
async def _too_many(stage: Stage, _name: str) -> Request:
    point = await _prepared(stage)
    execution_id, _ = parse_waitpoint_id("id", point.id)
    record = f"{stage.engine.store.tag_of(execution_id)}:x:{execution_id}"
    await stage.write("HSET", record, "signals", "10000")
    return await _signal(stage, point)


@way("rate_limited", SIGNAL, SIGNALS, QUESTION)
async def _too_often(stage: Stage, name: str) -> httpx.Response:
    async with stage.serve(rate=1) as site, site.client() as client:
        return await until_limited(client, await stage.request(name))


@way(200, ROTATE)
async def _new_key(stage: Stage, name: str) -> Request:
    return await stage.request(name, kid=f"k-{new_id()}")


@way("rotation_conflict", ROTATE)
async def _taken(stage: Stage, name: str) -> Request:
    kid, _ = await stage.engine.keyring.rotate()
    return await stage.request(name, kid=kid)


@way("rotation_busy", ROTATE)
async def _at_once(stage: Stage, name: str) -> httpx.Response:
    first, second = await _new_key(stage, name), await _new_key(stage, name)
    answers = []

    async def send_second() -> None:
        answers.append(await stage.send(second))

    with stage.meanwhile("hf_keyring_rotate", send_second):
        await stage.sent(first)
    return answers[0]
