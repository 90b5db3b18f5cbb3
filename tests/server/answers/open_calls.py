"""Ways past the limits of a caller: calls in a second, calls that wait, and live streams."""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus
from typing import Any

import httpx

from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, way
from tests.server.samples import Request, send

RESULT = "GET /v1/executions/{id}/result"
CLAIM = "POST /v1/workers/{instance}/claim"
GRAPH = "GET /v1/graphs/{id}"
CANCEL_GRAPH = "POST /v1/graphs/{id}/cancel"
STREAM = "GET /v1/executions/{id}/stream"
EVENTS = "GET /v1/executions/{id}/events"
FEED = "GET /v1/events"
SESSION = "GET /v1/sessions/{id}/events"
ACTIVITIES = "POST /v1/conversations/{name}/activities"
LIVE = {"Accept": "text/event-stream"}


async def until_limited(client: httpx.AsyncClient, request: Request) -> httpx.Response:
    """Send the same until it is refused for its rate; a slow machine needs more of them."""
    for _ in range(20):
        response = await send(client, request)
        if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            break
    return response


async def two_that_wait(stage: Stage, request: Request) -> httpx.Response:
    """Send a call that waits twice where one may: the other is answered at once."""
    async with stage.serve(most_waits=1) as site, site.client() as client:
        sent = [asyncio.ensure_future(send(client, request)) for _ in range(2)]
        done, waiting = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return done.pop().result()


@way("rate_limited", RESULT, GRAPH, ACTIVITIES)
async def _results(stage: Stage, name: str) -> httpx.Response:
    return await two_that_wait(stage, await stage.request(name, wait_ms=5_000))


@way("rate_limited", CLAIM)
async def _claims(stage: Stage, name: str) -> httpx.Response:
    request = await stage.request(name, wait_ms=5_000, lanes=[f"lane-{new_id()}"])
    return await two_that_wait(stage, request)


@way("rate_limited", CANCEL_GRAPH)
async def _cancels(stage: Stage, name: str) -> httpx.Response:
    request = await stage.request(name, policy="leave", wait=True, wait_ms=1_000)
    return await two_that_wait(stage, request)


@way(200, STREAM)
async def _live(stage: Stage, name: str) -> Request:
    request = await stage.request(name)
    request["headers"] |= LIVE
    return request


@way(200, GRAPH)
async def _a_moment(stage: Stage, name: str) -> Request:
    return await stage.request(name, wait_ms=1)


async def _two_tails(client: httpx.AsyncClient, request: dict[str, Any]) -> httpx.Response:
    async with client.stream(**request):
        return await send(client, request)


@way("rate_limited", STREAM, EVENTS, FEED, SESSION)
async def _tails(stage: Stage, name: str) -> httpx.Response:
    async with stage.serve(most_tails=1) as site, site.client() as client:
        return await _two_tails(client, await _live(stage, name))


@way("too_many_tails", STREAM)
async def _tails_of_a_tenant(stage: Stage, name: str) -> httpx.Response:
    async with contextlib.AsyncExitStack() as stack:
        await stage.engine.streams.set_tails(1)
        stack.push_async_callback(stage.engine.streams.set_tails, 1_000)
        return await _two_tails(stage.client, await _live(stage, name))
