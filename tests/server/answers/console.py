"""Ways to the answers of sessions of the console."""

from __future__ import annotations

import httpx

from tests.server.answers.open_calls import until_limited
from tests.server.answers.recipes import Stage, way
from tests.server.samples import Request

LOGIN = "POST /console/login"
TENANT = "POST /console/tenant"
LOGOUT = "POST /console/logout"
HEADERS = {"X-Holdfast-Console": "1"}


@way(200, LOGIN)
async def _with_a_key(stage: Stage, name: str) -> Request:
    request = await stage.request(name, {}, key=stage.operator)
    return {**request, "json": {"key": stage.operator}, "headers": HEADERS}


@way(200, TENANT)
async def _in_a_session(stage: Stage, name: str) -> Request:
    began = await stage.send(await _with_a_key(stage, LOGIN))
    cookie = began.headers["set-cookie"].partition(";")[0]
    stage.client.cookies.clear()
    request = await stage.request(name, {})
    return {**request, "headers": {**HEADERS, "Cookie": cookie}}


@way(200, LOGOUT)
async def _out(stage: Stage, name: str) -> Request:
    return {**await stage.request(name, {}), "headers": HEADERS}


@way("unauthorized", LOGIN, TENANT)
async def _without_a_key(stage: Stage, name: str) -> Request:
    stage.client.cookies.clear()
    return {**await stage.request(name, {}), "headers": HEADERS}


@way("forbidden", LOGIN, LOGOUT)
async def _without_the_header(stage: Stage, name: str) -> Request:
    return {**await stage.request(name, {}), "headers": {}}


@way("forbidden", TENANT)
async def _with_a_key_of_a_tenant(stage: Stage, name: str) -> Request:
    request = {**await stage.request(LOGIN, {}), "json": {"key": stage.ours}, "headers": HEADERS}
    cookie = (await stage.send(request)).headers["set-cookie"].partition(";")[0]
    stage.client.cookies.clear()
    return {**await stage.request(name, {}), "headers": {**HEADERS, "Cookie": cookie}}


@way("rate_limited", LOGIN, TENANT, LOGOUT)
async def _too_often(stage: Stage, name: str) -> httpx.Response:
    request = await _out(stage, name)
    async with stage.serve(rate=1) as site, site.client() as client:
        return await until_limited(client, request)
