"""Ways to the answers of signals to running executions."""

from __future__ import annotations

from dataclasses import asdict

import httpx

from tests.server.answers.open_calls import two_that_wait
from tests.server.answers.recipes import Stage, way
from tests.server.samples import Request
from tests.support.briefs import plant

SEND = "POST /v1/executions/{id}/signals"
RECEIVE = "POST /v1/executions/{id}/receive"
VIEW = "GET /v1/executions/{id}/view"
MOST_BYTES = 8 << 20


@way("inbox_full", SEND)
async def _full(stage: Stage, name: str) -> Request:
    claim = await stage.claimed()
    await plant(stage.engine.store, claim.id, "mail_bytes", str(MOST_BYTES))
    return await stage.request(name, {"id": claim.id})


@way("too_many_steps", RECEIVE)
async def _steps(stage: Stage, name: str) -> Request:
    claim = await stage.claimed()
    await stage.engine.signal(claim.id, "speed")
    steps = [part for n in range(10_000) for part in (f"s{n}", "1 1 {}")]
    await stage.write("HSET", f"{stage.engine.store.tag_of(claim.id)}:s:{claim.id}", *steps)
    return await stage.request(name, {"id": claim.id}, lease=asdict(claim.lease))


@way("rate_limited", RECEIVE)
async def _receivers(stage: Stage, name: str) -> httpx.Response:
    claim = await stage.claimed()
    lease = asdict(claim.lease)
    request = await stage.request(name, {"id": claim.id}, lease=lease, wait_ms=5_000)
    return await two_that_wait(stage, request)


@way("rate_limited", VIEW)
async def _readers(stage: Stage, name: str) -> httpx.Response:
    return await two_that_wait(stage, await stage.request(name, wait_ms=5_000))
