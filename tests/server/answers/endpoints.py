"""Ways to the answers of endpoints, and of the webhooks that arrive at them."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import httpx

from holdfast.model import bounds
from holdfast.model.endpoints import NewEndpoint
from holdfast.model.ids import new_id
from tests.server.answers.open_calls import until_limited
from tests.server.answers.recipes import Stage, about_nothing, way
from tests.server.conftest import OURS, THEIRS
from tests.server.samples import Request, conversation, endpoint

PUT = "PUT /v1/envs/{env}/endpoints/{endpoint}"
GET = "GET /v1/envs/{env}/endpoints/{endpoint}"
DELETE = "DELETE /v1/envs/{env}/endpoints/{endpoint}"
RECEIVE = "POST /ingress/{env}/{endpoint}"
CHALLENGE = "GET /ingress/{env}/{endpoint}"
UNNAMED = "POST /ingress/{env}"

way("endpoint_not_found", GET, DELETE)(about_nothing)


@way(201, PUT)
async def _new(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"env": "local", "endpoint": f"in-{new_id()}"})


@way("endpoint_conflict", PUT)
async def _foreign(stage: Stage, name: str) -> Request:
    taken = await endpoint(stage.engine, THEIRS)
    return await stage.request(name, {"env": "local", "endpoint": taken})


@way("too_many_endpoints", PUT)
async def _full(stage: Stage, name: str) -> httpx.Response:
    request = await stage.request(name, {"env": "local", "endpoint": f"in-{new_id()}"})
    with mock.patch.object(bounds, "ENDPOINTS", 0):
        return await stage.send(request)


@way("too_many_secrets", PUT)
async def _too_secret(stage: Stage, name: str) -> httpx.Response:
    request = await stage.request(name, {"env": "local", "endpoint": f"in-{new_id()}"})
    with mock.patch.object(bounds, "SECRETS", 0):
        return await stage.send(request)


async def _webhook(stage: Stage, **fields: Any) -> Request:
    """Return a genuine webhook for an endpoint."""
    new = NewEndpoint(
        **{
            "id": f"in-{new_id()}",
            "tenant": OURS,
            "provider": "http",
            "secrets": {"token": "correct horse"},
            **fields,
        }
    )
    await stage.engine.endpoints.put(new)
    body = {"conversation": "c", "user": "ann", "text": "hello", "id": new_id()}
    return {
        "method": "POST",
        "url": f"/ingress/local/{new.id}",
        "content": json.dumps(body).encode(),
        "headers": {"Authorization": "Bearer correct horse"},
    }


@way(200, RECEIVE)
async def _genuine(stage: Stage, _name: str) -> Request:
    return await _webhook(stage, conversation=await conversation(stage.engine, OURS))


@way("invalid_signature", RECEIVE, CHALLENGE)
async def _forged(stage: Stage, name: str) -> Request:
    return await stage.request(name)


@way("not_deliverable", RECEIVE)
async def _to_nothing(stage: Stage, _name: str) -> Request:
    return await _webhook(stage, deployment="nothing")


@way("rate_limited", RECEIVE)
async def _hurried(stage: Stage, _name: str) -> httpx.Response:
    name = await conversation(stage.engine, OURS)
    request = await _webhook(stage, conversation=name, rate=1)
    for _ in range(3):
        response = await stage.send(request)
    return response


@way("rate_limited", CHALLENGE)
async def _too_often(stage: Stage, name: str) -> httpx.Response:
    async with stage.serve(rate=1) as site, site.client() as client:
        return await until_limited(client, await stage.request(name))


@way(200, CHALLENGE)
async def _asked(stage: Stage, _name: str) -> Request:
    new = NewEndpoint(
        id=f"in-{new_id()}",
        tenant=OURS,
        provider="whatsapp",
        conversation="talk",
        settings={"phone_number_id": "1"},
        secrets={"app_secret": "a", "verify_token": "v", "access_token": "t"},
    )
    await stage.engine.endpoints.put(new)
    query = {"hub.mode": "subscribe", "hub.verify_token": "v", "hub.challenge": "17"}
    return {"method": "GET", "url": f"/ingress/local/{new.id}", "params": query}


async def _env(stage: Stage) -> str:
    """Return an env that has no endpoints."""
    name = f"env-{new_id()}"
    await stage.engine.envs.put(name)
    return name


async def _unnamed(stage: Stage, env: str | None = None, **fields: Any) -> Request:
    """Return a genuine webhook that names no endpoint, for the only one of its env."""
    where = env or await _env(stage)
    request = await _webhook(stage, env=where, **fields)
    return {**request, "url": f"/ingress/{where}"}


@way("invalid_signature", UNNAMED)
async def _of_nobody(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"env": await _env(stage)})


@way(200, UNNAMED)
async def _identified(stage: Stage, _name: str) -> Request:
    return await _unnamed(stage, conversation=await conversation(stage.engine, OURS))


@way("ambiguous_identity", UNNAMED)
async def _of_two(stage: Stage, _name: str) -> Request:
    name, env = await conversation(stage.engine, OURS), await _env(stage)
    await _unnamed(stage, env, conversation=name)
    return await _unnamed(stage, env, conversation=name)


@way("not_deliverable", UNNAMED)
async def _unnamed_to_nothing(stage: Stage, _name: str) -> Request:
    return await _unnamed(stage, deployment="nothing")


@way("rate_limited", UNNAMED)
async def _unnamed_hurried(stage: Stage, _name: str) -> httpx.Response:
    request = await _unnamed(stage, conversation=await conversation(stage.engine, OURS), rate=1)
    for _ in range(3):
        response = await stage.send(request)
    return response
