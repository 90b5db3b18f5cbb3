"""Ways to the answers of the web chat: visitors with a cookie, and callers without one."""

from __future__ import annotations

import contextlib
from typing import Any

import httpx

from holdfast.model.deployments import NewDeployment
from holdfast.model.ids import new_id
from holdfast.server.chat.doors import EVERY, Door
from tests.server.answers.open_calls import until_limited
from tests.server.answers.recipes import Stage, way
from tests.server.conftest import OURS
from tests.server.samples import Request, conversation, send

PAGE = "GET /chat/{env}/{name}"
BEGIN = "POST /chat/{env}/{name}/session"
SAY = "POST /chat/{env}/{name}/messages"
LINES = "GET /chat/{env}/{name}/lines"
EVENTS = "GET /chat/{env}/{name}/events"
RESTART = "POST /chat/{env}/{name}/restart"
UPLOAD = "POST /chat/{env}/{name}/files"
DOWNLOAD = "GET /chat/{env}/{name}/files/{file}"
FILE = "GET /static/{file}"
VISITING = (SAY, LINES, EVENTS, RESTART, UPLOAD, DOWNLOAD)
FULL = 100
MOST_FILES = 3


async def visiting(stage: Stage, name: str, talk: str | None = None, **changes: Any) -> Request:
    """Return a call of a visitor whom the server knows."""
    talk = talk or await conversation(stage.engine, OURS)
    path = {"env": "local", "name": talk, "file": new_id()}
    begun = await stage.send(await stage.request(BEGIN, path))
    cookie = begun.headers["set-cookie"].partition(";")[0]
    request = await stage.request(name, path, **changes)
    return {**request, "headers": {"Cookie": cookie}}


async def _spoken(stage: Stage, name: str, times: int = 1, **about: Any) -> Request:
    """Return a call of a visitor who has sent messages that nobody has answered."""
    talk = await conversation(stage.engine, OURS, **about)
    request = await visiting(stage, SAY, talk)
    for number in range(times):
        body = {"id": f"m-{number}", "text": "hello"}
        response = await stage.client.request(**{**request, "json": body})
        assert response.is_success, response.text
    called = await stage.request(name, {"env": "local", "name": talk, "file": new_id()})
    return {**called, "headers": request["headers"]}


@way(200, SAY, RESTART)
async def _a_visitor(stage: Stage, name: str) -> Request:
    return await visiting(stage, name)


@way(200, LINES, EVENTS)
async def _with_a_session(stage: Stage, name: str) -> Request:
    return await _spoken(stage, name)


@way("session_not_found", LINES, EVENTS)
async def _before_the_first_message(stage: Stage, name: str) -> Request:
    return await visiting(stage, name)


@way("invalid_token", *VISITING)
async def _a_stranger(stage: Stage, name: str) -> Request:
    request = await stage.request(name)
    return {**request, "headers": {"Cookie": "hf_chat_x=hfv1.k.b.s"}}


@way("web_chat_not_found", PAGE, BEGIN, *VISITING)
async def _a_closed_door(stage: Stage, name: str) -> Request:
    nothing = {"env": "elsewhere", "name": "nothing", "file": new_id()}
    return await stage.request(name, nothing)


@way("forbidden", BEGIN, *VISITING)
async def _from_another_page(stage: Stage, name: str) -> Request:
    return {**await stage.request(name), "headers": {"Sec-Fetch-Site": "cross-site"}}


@way(200, UPLOAD)
async def _a_file(stage: Stage, name: str) -> Request:
    return await visiting(stage, name)


async def _uploaded(stage: Stage, **changes: Any) -> tuple[Request, str]:
    """Return a call that uploads a file, and the id of the file after it was sent."""
    request = await visiting(stage, UPLOAD, **changes)
    sent = await stage.send(request)
    return request, sent.json()["id"]


@way(200, DOWNLOAD)
async def _of_ones_own(stage: Stage, name: str) -> Request:
    request, file = await _uploaded(stage)
    url = f"{request['url']}/{file}"
    return {"method": "GET", "url": url, "headers": request["headers"]}


@way("file_not_found", DOWNLOAD)
async def _of_somebody_else(stage: Stage, name: str) -> Request:
    _, file = await _uploaded(stage)
    request = await visiting(stage, UPLOAD)
    url = f"{request['url']}/{file}"
    return {"method": "GET", "url": url, "headers": request["headers"]}


@way("file_not_found", SAY)
async def _naming_a_file_of_somebody_else(stage: Stage, name: str) -> Request:
    _, file = await _uploaded(stage)
    request = await visiting(stage, name)
    return {**request, "json": {"id": new_id(), "files": [file]}}


@way("file_refused", UPLOAD)
async def _a_program(stage: Stage, name: str) -> Request:
    return {**await visiting(stage, name), "params": {"name": "setup.exe"}}


@way("files_full", UPLOAD)
async def _one_too_many(stage: Stage, name: str) -> Request:
    request, _ = await _uploaded(stage)
    for _ in range(MOST_FILES - 1):
        await stage.send(request)
    return request


@way("files_not_taken", UPLOAD)
async def _a_chat_without_files(stage: Stage, name: str) -> httpx.Response:
    request = await visiting(stage, name)
    doors = (Door(env="local", name=EVERY, tenant=OURS),)
    async with stage.serve(web_chats=doors) as site, site.client() as client:
        return await send(client, request)


@way("rate_limited", PAGE)
async def _too_many_pages(stage: Stage, name: str) -> httpx.Response:
    doors = (Door(env="local", name=EVERY, tenant=OURS),)
    async with stage.serve(web_chats=doors, rate=1) as site, site.client() as client:
        return await until_limited(client, await stage.request(name))


@way("rate_limited", BEGIN, SAY, RESTART, UPLOAD)
async def _too_fast(stage: Stage, name: str) -> httpx.Response:
    doors = (Door(env="local", name=EVERY, tenant=OURS),)
    async with stage.serve(web_chats=doors, web_chat_rate=1) as site, site.client() as client:
        return await until_limited(client, await stage.request(name))


@way("rate_limited", LINES, DOWNLOAD)
async def _too_many_reads(stage: Stage, name: str) -> httpx.Response:
    request = await _spoken(stage, name)
    doors = (Door(env="local", name=EVERY, tenant=OURS),)
    async with stage.serve(web_chats=doors, rate=1) as site, site.client() as client:
        return await until_limited(client, request)


@way("rate_limited", EVENTS)
async def _too_many_streams(stage: Stage, name: str) -> httpx.Response:
    request = await _spoken(stage, name)
    doors = (Door(env="local", name=EVERY, tenant=OURS),)
    async with stage.serve(web_chats=doors, most_tails=1) as site, site.client() as client:
        opened = await client.send(client.build_request(**request), stream=True)
        async with contextlib.aclosing(opened):
            return await send(client, request)


@way("session_busy", SAY)
async def _while_it_answers(stage: Stage, name: str) -> Request:
    request = await _spoken(stage, name, conversation={"busy": "reject"})
    return {**request, "json": {"id": new_id(), "text": "again"}}


@way("session_full", SAY)
async def _while_nobody_answers(stage: Stage, name: str) -> Request:
    request = await _spoken(stage, name, times=FULL + 1)
    return {**request, "json": {"id": new_id(), "text": "again"}}


@way("web_chat_unavailable", SAY)
async def _without_a_revision(stage: Stage, name: str) -> Request:
    deployment = f"d-{new_id()}"
    new = NewDeployment(env="local", id=deployment, tenant=OURS, app="talk")
    await stage.engine.deployments.create(new)
    return await visiting(stage, name, deployment)


@way("not_found", FILE)
async def _no_file(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"file": "LOCK"})
