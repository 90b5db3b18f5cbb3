"""A web application of FastAPI, and one of Starlette, with Holdfast inside."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, WebSocket
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from holdfast import App, Context
from holdfast.api import Engine
from holdfast.errors import InvalidInput, TaskError
from holdfast.integrations.fastapi import (
    MOST_BYTES,
    WebhookMessage,
    app_of,
    engine_of,
    follow,
    lifespan,
    webhook,
)
from holdfast.model.webhooks import headers

SECRET = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=="  # noqa: S105 - of these tests
BODY = b'{"type":"execution.ended","execution":{"id":"e1"}}'


async def count(ctx: Context, to: int) -> int:
    """Stream some frames."""
    for number in range(1, to + 1):
        await ctx.stream.json({"n": number})
    await ctx.stream.bytes(b"\xff", live=True)
    return to


def fastapi(app: App) -> FastAPI:
    """Return an application with dependencies."""
    api = FastAPI(lifespan=lifespan(app))
    task = app.task(count)

    @api.post("/counts")
    async def submit(to: int) -> str:
        handle = await task.submit(to)
        await handle.result()
        return handle.id

    @api.get("/counts/{id}")
    async def stream(request: Request, id: str, tenant: str | None = None) -> Response:
        return await follow(request, id, tenant=tenant)

    @api.get("/kinds")
    async def kinds(app: Annotated[App, Depends(app_of)]) -> list[str]:
        return list(app.tasks)

    @api.websocket("/states/{id}")
    async def state(
        socket: WebSocket, id: str, engine: Annotated[Engine, Depends(engine_of)]
    ) -> None:
        await socket.accept()
        await socket.send_text((await engine.describe(id)).state)

    @api.post("/ended")
    async def ended(message: Annotated[WebhookMessage, Depends(webhook(SECRET))]) -> list[str]:
        return [message.id, message.type, message.content["execution"]["id"]]

    return api


def starlette(app: App) -> Starlette:
    """Return the same application without dependencies."""
    task = app.task(count)
    verified = webhook(SECRET)

    async def submit(request: Request) -> Response:
        handle = await task.submit(int(request.query_params["to"]))
        await handle.result()
        return JSONResponse(handle.id)

    async def stream(request: Request) -> Response:
        tenant = request.query_params.get("tenant")
        return await follow(request, request.path_params["id"], tenant=tenant)

    async def ended(request: Request) -> Response:
        message = await verified(request)
        return JSONResponse([message.id, message.type, message.content["execution"]["id"]])

    routes = [
        Route("/counts", submit, methods=["POST"]),
        Route("/counts/{id}", stream),
        Route("/ended", ended, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan(app))


@pytest.fixture(params=[fastapi, starlette])
def client(request: pytest.FixtureRequest, url: str) -> Iterator[TestClient]:
    """An open application."""
    with TestClient(request.param(App(url))) as client:
        yield client


def events(text: str) -> list[tuple[str, str, Any]]:
    """Return the events of a reply: id, name, data."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[0] != ":")
        if "data" in fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found


def test_a_stream_is_sent_and_resumed(client: TestClient) -> None:
    """Each frame comes once, the end last; then browsers need not connect again."""
    id = client.post("/counts", params={"to": 3}).json()
    reply = client.get(f"/counts/{id}")
    assert reply.headers["content-type"].startswith("text/event-stream")
    found = events(reply.text)
    assert [(at, name) for at, name, _ in found] == [
        ("1", "json"),
        ("2", "json"),
        ("3", "json"),
        ("4", "bytes"),
        ("end", "end"),
    ]
    assert found[1][2]["payload"] == {"n": 2}
    assert found[3][2]["payload"] == "/w=="
    assert found[3][2]["live"] is True
    assert found[4][2] == {"state": "completed"}
    rest = client.get(f"/counts/{id}", headers={"Last-Event-ID": "2"})
    assert events(rest.text) == found[2:]
    assert client.get(f"/counts/{id}", headers={"Last-Event-ID": "end"}).status_code == 204


def test_refusals_have_a_status(client: TestClient) -> None:
    """Executions that do not exist, or belong to others, are not found."""
    id = client.post("/counts", params={"to": 1}).json()
    assert client.get(f"/counts/{id}", params={"tenant": "default"}).status_code == 200
    assert client.get(f"/counts/{id}", params={"tenant": "acme"}).status_code == 404
    assert client.get("/counts/nowhere").status_code == 404
    assert client.get("/counts/a b").status_code == 400
    for wrong in ("x", "-1", "9" * 5_000):
        reply = client.get(f"/counts/{id}", headers={"Last-Event-ID": wrong})
        assert reply.status_code == 400


def test_only_signed_messages_are_taken(client: TestClient) -> None:
    """The secret, the time and every byte must fit."""
    now = int(time.time())
    signed = headers([SECRET], "m1", now, BODY)
    reply = client.post("/ended", content=BODY, headers=signed)
    assert reply.json() == ["m1", "execution.ended", "e1"]
    other = headers(["whsec_b3RoZXI="], "m1", now, BODY)
    old = headers([SECRET], "m1", now - 301, BODY)
    for content, sent in ((BODY, {}), (BODY, other), (BODY, old), (BODY + b" ", signed)):
        assert client.post("/ended", content=content, headers=sent).status_code == 401
    far = {**signed, "webhook-timestamp": "9" * 5_000}
    assert client.post("/ended", content=BODY, headers=far).status_code == 401
    assert client.post("/ended", content=b" " * (MOST_BYTES + 1)).status_code == 413


def test_dependencies_give_the_app_and_its_engine(url: str) -> None:
    """Requests get the app, WebSockets the engine."""
    with TestClient(fastapi(App(url))) as client:
        assert client.get("/kinds").json() == ["count"]
        id = client.post("/counts", params={"to": 1}).json()
        with client.websocket_connect(f"/states/{id}") as socket:
            assert socket.receive_text() == "completed"


@pytest.mark.parametrize("make", [fastapi, starlette])
def test_an_application_that_is_not_open_says_so(
    url: str, make: Callable[[App], FastAPI | Starlette]
) -> None:
    """The error names what is missing."""
    with pytest.raises(TaskError, match="lifespan"):
        TestClient(make(App(url))).get("/counts/e1")


def test_a_secret_of_the_wrong_form_is_refused_at_once() -> None:
    """Not with the first message."""
    with pytest.raises(InvalidInput, match="secret"):
        webhook("whsec_?")


async def test_without_a_worker_the_app_only_submits(url: str) -> None:
    """A worker elsewhere runs the task."""
    app = App(url)
    task = app.task(count)
    async with lifespan(app, worker=False)(None) as state:
        assert state == {"holdfast": app}
        handle = await task.submit(1)
        assert await handle.state() == "waiting"
        async with lifespan(app)(None):
            assert await handle.result(timeout=20) == 1
