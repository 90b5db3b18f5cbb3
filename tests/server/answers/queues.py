"""Ways to the answers of message queues and their messages."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from holdfast.model.deliveries import Delivery
from holdfast.model.effects import Submit
from holdfast.model.executions import NewExecution
from holdfast.model.ids import new_id
from holdfast.testing.polling import wait_for
from tests.server.answers.open_calls import two_that_wait
from tests.server.answers.recipes import ROUTES, Stage, about_nothing, by_example, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request, send, values_of

DEFINE = "PUT /v1/queues/{name}"
DELETE = "DELETE /v1/queues/{name}"
ADD_GROUP = "PUT /v1/queues/{name}/groups/{group}"
REMOVE_GROUP = "DELETE /v1/queues/{name}/groups/{group}"
PAUSE = "POST /v1/queues/{name}/pause"
RESUME = "POST /v1/queues/{name}/resume"
MOVE = "POST /v1/queues/{name}/move"
REDRIVE = "POST /v1/queues/{name}/redrive"
PENDING = "GET /v1/queues/{name}/pending"
PEEK = "GET /v1/queues/{name}/peek"
STATS = "GET /v1/queues/{name}/stats"
READ = "POST /v1/queues/{name}/read"
CLAIM = "POST /v1/queues/{name}/claim"
COMMIT = "POST /v1/queues/{name}/commit"

way("queue_not_found", *(n for n in declaring("queue_not_found") if n != DEFINE))(about_nothing)
# A sample is a FANOUT queue without groups.
way("queue_conflict", DEFINE, REDRIVE)(by_example)
way("group_not_found", PAUSE, RESUME, REMOVE_GROUP, PENDING, READ, CLAIM)(by_example)


async def _queue(stage: Stage, **fields: Any) -> dict[str, str]:
    """Make a queue, by default one for work; return the path of it and of its only group."""
    name = f"queue-{new_id()}"
    await stage.engine.queues.define(f"{OURS}/{name}", **fields)
    return {"name": name, "group": "default"}


async def _delivered(stage: Stage, **fields: Any) -> tuple[dict[str, str], Delivery]:
    """Make a queue and hand out its only message."""
    path = await _queue(stage, **fields)
    name = f"{OURS}/{path['name']}"
    await stage.engine.queues.push(name, b"17")
    (delivery,) = await stage.engine.queues.read(name, consumer="c")
    return path, delivery


@way(200, PAUSE, RESUME, REDRIVE, PENDING, PEEK, READ, CLAIM)
@way("queue_conflict", ADD_GROUP, REMOVE_GROUP)
async def _of_work(stage: Stage, name: str) -> Request:
    path = await _queue(stage)
    if name == ADD_GROUP:
        path["group"] = "another"
    return await stage.request(name, path)


@way("group_not_found", STATS, PEEK)
async def _no_group(stage: Stage, name: str) -> Request:
    return await stage.request(name, group="nothing")


@way(201, DEFINE)
async def _new(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"name": f"queue-{new_id()}"})


@way(200, DEFINE)
async def _known(stage: Stage, name: str) -> Request:
    return await stage.request(name, await _queue(stage))


@way("queue_not_found", DEFINE)
async def _removed_meanwhile(stage: Stage, name: str) -> httpx.Response:
    path = await _queue(stage)

    async def remove() -> None:
        await stage.engine.queues.delete(f"{OURS}/{path['name']}")

    with stage.meanwhile("hf_queue_describe", remove):
        return await stage.send(await stage.request(name, path))


@way("invalid_dead_letter", DEFINE)
async def _its_own(stage: Stage, name: str) -> Request:
    path = await _queue(stage)
    return await stage.request(name, path, dead_letter=path["name"])


@way("queue_conflict", DELETE)
async def _in_debt(stage: Stage, name: str) -> Request:
    """It owes an execution to a lane that takes none."""
    path, delivery = await _delivered(stage)
    item = NewExecution(kind="k", tenant=OURS, lane=await stage.draining())
    await stage.engine.queues.ack(f"{OURS}/{path['name']}", delivery.handle, Submit(item))
    return await stage.request(name, path)


@way(200, ADD_GROUP)
async def _known_group(stage: Stage, name: str) -> Request:
    return await stage.sent(await stage.request(name))


@way("too_many_groups", ADD_GROUP)
async def _groups(stage: Stage, name: str) -> Request:
    path = await _queue(stage, mode="fanout")
    groups = [part for n in range(1_000) for part in ("0", f"g{n}")]
    tag = stage.engine.store.queue_tag(f"{OURS}/{path['name']}")
    await stage.write("ZADD", f"{tag}:groups", *groups)
    return await stage.request(name, path)


@way("message_not_found", ADD_GROUP)
async def _after_nothing(stage: Stage, name: str) -> Request:
    return await stage.request(name, start={"after": "nothing"})


@way(204, REMOVE_GROUP)
async def _its_group(stage: Stage, name: str) -> Request:
    path = await values_of(ROUTES[name], stage.engine, OURS)
    await stage.sent(await stage.request(ADD_GROUP, path))
    return await stage.request(name, path)


@way(200, MOVE)
async def _to_another(stage: Stage, name: str) -> Request:
    target = await _queue(stage)
    return await stage.request(name, await _queue(stage), to=target["name"])


@way("queue_conflict", MOVE)
async def _from_fanout(stage: Stage, name: str) -> Request:
    return await stage.request(name, to=(await _queue(stage))["name"])


async def _slowly_redriven(stage: Stage, name: str) -> tuple[str, Request]:
    """Return the origin of two dead letters, and the request to send them back."""
    path = await _queue(stage)
    settings = {"dead_letter": f"{OURS}/{path['name']}", "max_attempts": 1}
    origin = f"{OURS}/{(await _queue(stage, **settings))['name']}"
    for _ in range(2):
        await stage.engine.queues.push(origin, b"17")
        (delivery,) = await stage.engine.queues.read(origin, consumer="c")
        await stage.engine.queues.nack(origin, delivery.handle)
    return origin, await stage.request(name, path, filter=None, rate_per_s=0.01)


@way("rate_limited", REDRIVE)
async def _two_redrives(stage: Stage, name: str) -> httpx.Response:
    _, request = await _slowly_redriven(stage, name)
    return await two_that_wait(stage, request)


@way("rate_limited", READ)
async def _two_reads(stage: Stage, name: str) -> httpx.Response:
    request = await stage.request(name, await _queue(stage), wait_ms=5_000)
    return await two_that_wait(stage, request)


@way("outcome_unknown", REDRIVE)
async def _stopped(stage: Stage, name: str) -> httpx.Response:
    """The server stops when one of two letters is sent back."""
    origin, request = await _slowly_redriven(stage, name)
    async with stage.serve() as site, site.client() as client:
        answer = asyncio.ensure_future(send(client, request))

        async def one_is_sent() -> bool:
            return (await stage.engine.queues.stats(origin)).stored == 1

        await wait_for(one_is_sent)
        site.server.stop()
        return await answer


async def _committed(stage: Stage, **execution: Any) -> Request:
    """Return a request to retire a message together with an execution."""
    path, delivery = await _delivered(stage)
    effects = [{"execution": {"kind": "k", **execution}}]
    return await stage.request(COMMIT, path, handle=delivery.handle, effects=effects)


@way(200, COMMIT)
async def _done(stage: Stage, _name: str) -> Request:
    return await _committed(stage)


@way("stale_delivery", COMMIT)
async def _of_another(stage: Stage, _name: str) -> Request:
    request = await _committed(stage)
    queue = request["url"].split("/")[3]
    await stage.sent(await stage.request(CLAIM, {"name": queue}, min_idle_ms=0))
    return request


@way("unknown_delivery", COMMIT)
async def _never_handed_out(stage: Stage, _name: str) -> Request:
    request = await _committed(stage)
    request["json"]["handle"] = "h"
    return request


@way("budget_not_found", COMMIT)
async def _no_budget(stage: Stage, _name: str) -> Request:
    return await _committed(stage, budgets=["nothing"])


@way("quota_not_found", COMMIT)
async def _no_quota(stage: Stage, _name: str) -> Request:
    return await _committed(stage, quotas=["nothing"])
