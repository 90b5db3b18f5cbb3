"""Ways to the answers of whoever holds a lease, on every route that takes one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from holdfast.model.budgets import OnHard
from holdfast.model.executions import Claim, Failure
from holdfast.model.ids import new_id
from holdfast.model.waitpoints import NewWaitpoint, waitpoint_id
from tests.server.answers.recipes import ROUTES, Stage, way
from tests.server.conftest import OURS
from tests.server.samples import Request, activity, conversation
from tests.support.briefs import plant

RENEW = "POST /v1/leases:renew"
COMPLETE_MANY = "POST /v1/leases:complete"
STEPS = "POST /v1/executions/{id}/steps"
COMPLETE = "POST /v1/executions/{id}/complete"
PREPARE = "POST /v1/executions/{id}/waitpoints"
SUSPEND = "POST /v1/executions/{id}/suspend"
SPEND = "POST /v1/executions/{id}/usage"
RESERVE = "POST /v1/executions/{id}/usage/reserve"
SETTLE = "POST /v1/executions/{id}/usage/settle"
TURN = "POST /v1/executions/{id}/turn"
STATE = "POST /v1/executions/{id}/session-state"
CONVERSING = (TURN, STATE)
RECEIVE = "POST /v1/executions/{id}/receive"
WELCOME = "POST /v1/executions/{id}/welcome"
HOLDING = [
    name
    for name, route in ROUTES.items()
    if "lease" in getattr(route.body, "__struct_fields__", ())
]


#: A waitpoint without anything, in msgpack.
_EMPTY = b"\x80"


async def _holding(stage: Stage, name: str, claim: Claim, **changes: Any) -> Request:
    return await stage.request(name, {"id": claim.id}, lease=asdict(claim.lease), **changes)


async def _conversing(stage: Stage) -> Claim:
    lane = f"lane-{new_id()}"
    talk = await conversation(stage.engine, OURS, options={"lane": lane})
    await stage.engine.sessions.deliver(talk, activity(talk, OURS))
    return await stage.claim(lane)


async def _held(stage: Stage, name: str) -> Request:
    """One with a budget, so that there is something to charge; what may wait for more does."""
    if name in CONVERSING:
        return await _holding(stage, name, await _conversing(stage))
    caps = {"tokens": {"hard": 1}} if name in {SPEND, RESERVE} else {}
    budget, _ = await stage.engine.budgets.create(tenant=OURS, limits=caps, on_hard=OnHard.SUSPEND)
    claim = await stage.claimed(budgets=[budget.id])
    if name == SETTLE:
        reserve = stage.engine.budgets.spending.reserve
        await reserve(claim.id, claim.lease, {"tokens": 2_000}, key="call-17")
    if name == RECEIVE:
        await stage.engine.signal(claim.id, "speed")
    return await _holding(stage, name, claim)


for _name in HOLDING:
    way(ROUTES[_name].statuses[0], _name)(_held)


@way(200, RENEW, COMPLETE_MANY)
async def _renewed(stage: Stage, name: str) -> Request:
    claim = await stage.claimed()
    return await stage.request(name, items=[{"execution": claim.id, "lease": asdict(claim.lease)}])


@way("stale_lease", *HOLDING)
async def _too_late(stage: Stage, name: str) -> Request:
    claim = await stage.claimed()
    await stage.clock.advance(60_000)
    return await _holding(stage, name, claim)


@way("lease_revoked", *HOLDING)
async def _revoked(stage: Stage, name: str) -> Request:
    claim = await stage.claimed()
    await stage.engine.revoke_lease(claim.id)
    return await _holding(stage, name, claim)


@way("not_active", *HOLDING)
async def _over(stage: Stage, name: str) -> Request:
    """End it by another call than the one that is sent, which would be the same again."""
    claim = await stage.claimed()
    if name == COMPLETE:
        failure = Failure(type="E", message="m", retryable=False)
        await stage.engine.fail(claim.id, claim.lease, failure)
    else:
        await stage.engine.complete(claim.id, claim.lease)
    return await _holding(stage, name, claim)


@way("session_not_found", *CONVERSING)
async def _no_session(stage: Stage, name: str) -> Request:
    return await _holding(stage, name, await stage.claimed())


@way(200, WELCOME)
async def _welcoming(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": (await _conversing(stage)).id})


@way("session_not_found", WELCOME)
async def _nobody_to_welcome(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": (await stage.claimed()).id})


@way("session_full", STATE)
async def _full_state(stage: Stage, name: str) -> Request:
    claim = await _conversing(stage)
    assert claim.session is not None
    values = [part for n in range(1_000) for part in (f"v{n}", _EMPTY)]
    tag = stage.engine.store.tag_of(claim.id)
    await stage.write("HSET", f"{tag}:V:{claim.session.id}", *values)
    return await _holding(stage, name, claim)


@way("too_many_steps", STEPS, *CONVERSING)
async def _steps(stage: Stage, name: str) -> Request:
    claim = await (stage.claimed() if name == STEPS else _conversing(stage))
    steps = [part for n in range(10_000) for part in (f"s{n}", "1 1 {}")]
    tag = stage.engine.store.tag_of(claim.id)
    await stage.write("HSET", f"{tag}:s:{claim.id}", *steps)
    await plant(stage.engine.store, claim.id, "steps", "10000")
    return await _holding(stage, name, claim)


@way("too_many_waitpoints", PREPARE, SUSPEND)
async def _waitpoints(stage: Stage, name: str) -> Request:
    claim = await stage.claimed()
    await plant(stage.engine.store, claim.id, "waitpoints", "10000")
    return await _holding(stage, name, claim)


@way("too_many_waitpoints", SPEND, RESERVE)
async def _questions(stage: Stage, name: str) -> Request:
    """The execution would have to wait for more of its budget."""
    budget, _ = await stage.engine.budgets.create(
        tenant=OURS, limits={"tokens": {"hard": 1}}, on_hard=OnHard.SUSPEND
    )
    claim = await stage.claimed(budgets=[budget.id])
    tag = stage.engine.store.tag_of(claim.id)
    await plant(stage.engine.store, claim.id, "waitpoints", "10000")
    points = [part for n in range(9_901, 10_001) for part in (str(n), _EMPTY)]
    await stage.write("HSET", f"{tag}:p:{claim.id}", *points)
    return await _holding(stage, name, claim)


async def _prepared(stage: Stage) -> Claim:
    claim = await stage.claimed()
    points = [NewWaitpoint(name="mail"), NewWaitpoint(name="approval")]
    await stage.engine.waitpoints.prepare(claim.id, claim.lease, points)
    return claim


@way("waitpoint_exists", PREPARE)
async def _same_name(stage: Stage, name: str) -> Request:
    return await _holding(stage, name, await _prepared(stage))


async def _waiting_at(stage: Stage, claim: Claim, number: int) -> Request:
    points = [{"id": waitpoint_id(claim.id, number), "name": "mail"}]
    condition = {"waitpoint": "mail"}
    return await _holding(stage, SUSPEND, claim, waitpoints=points, condition=condition)


@way("waitpoint_not_found", SUSPEND)
async def _no_waitpoint(stage: Stage, _name: str) -> Request:
    return await _waiting_at(stage, await _prepared(stage), 3)


@way("waitpoint_closed", SUSPEND)
async def _closed_waitpoint(stage: Stage, _name: str) -> Request:
    claim = await _prepared(stage)
    await stage.engine.waitpoints.revoke(waitpoint_id(claim.id, 1))
    return await _waiting_at(stage, claim, 1)


@way("invalid_condition", SUSPEND)
async def _no_condition(stage: Stage, name: str) -> Request:
    return await _holding(stage, name, await stage.claimed(), condition={"waitpoint": "nothing"})


@way("budget_not_found", *(name for name in HOLDING if "usage" in name))
async def _no_budget(stage: Stage, name: str) -> Request:
    return await _holding(stage, name, await stage.claimed(), budget="nothing")


@way("reservation_not_found", SETTLE)
async def _nothing_reserved(stage: Stage, name: str) -> Request:
    budget, _ = await stage.engine.budgets.create(tenant=OURS, limits={})
    return await _holding(stage, name, await stage.claimed(budgets=[budget.id]))
