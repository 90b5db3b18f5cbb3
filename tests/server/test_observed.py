"""One execution through real processes, as a collector of traces and a reader of logs see it.

A producer submits over HTTP; the worker fails once, runs a step, waits for an answer, and ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.engine import open_engine
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer
from tests.support.http_servers import ROOT, holdfast_process, server_process
from tests.support.otlp import Receiver, Span, otlp_receiver

APP = """
from holdfast import App, Context, Retry
app = App()

@app.task(retries=2)
async def review(ctx: Context, document: str) -> str:
    ctx.logger.info("looks at it")
    await ctx.step("fetch", len, document)
    if ctx.attempt == 0:
        raise Retry("not yet", after=0)
    return await ctx.wait_for("approval")

@app.task
async def ping() -> None: ...
"""
PRODUCER = """
import asyncio, sys
from holdfast.tracing import set_up_from_environment
from shop import app, review

async def main() -> None:
    set_up_from_environment("producer")
    app.store = sys.argv[1]
    async with app:
        print((await review.options(tenant="acme").submit("payload-in-the-dark")).id)

asyncio.run(main())
"""
#: Loaded at the start of a process: there is no extra.
NO_EXTRA = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):
            raise ImportError(name)

sys.meta_path.insert(0, Blocker())
"""
#: What the answer says, which is nobody's business either.
ANSWER = "answer-in-the-dark"
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@dataclass(frozen=True, slots=True)
class Scene:
    """What was to be seen."""

    execution: str
    received: Receiver
    #: Lines of logs by the command that wrote them.
    logs: dict[str, list[dict[str, Any]]]
    #: All that was written.
    text: str
    secrets: dict[str, str]
    request: str

    def span(self, name: str, place: int = 0) -> Span:
        """Return a span of the execution's trace by its name, in the order of their export."""
        (trace,) = {one.trace for one in self.received.spans if one.name == "submit review"}
        found = [one for one in self.received.spans if (one.name, one.trace) == (name, trace)]
        return found[place]


@pytest.fixture(scope="module")
async def scene(real_server: TestServer, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("observed")
    (folder / "shop.py").write_text(APP)
    (folder / "producer.py").write_text(PRODUCER)
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=observed"
    async with open_engine(store, maintenance=False) as engine:
        _, admin = await engine.api_keys.create(roles=["admin"])
        _, key = await engine.api_keys.create(roles=["worker", "submitter"], tenant="acme")
    with otlp_receiver() as (endpoint, received):
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "HOLDFAST_KEY": key}
        debug = ("--log-level", "debug")
        async with (
            server_process(store, folder, *debug, **environment) as (url, _),
            holdfast_process(
                folder, folder, "worker", "shop:app", "--store", url, *debug, **environment
            ),
        ):
            execution = await _produce(folder, url, environment)
            headers = {"Authorization": f"Bearer {admin}", "traceparent": CALLER}
            async with httpx.AsyncClient(base_url=url, headers=headers) as client:
                token, request = await _answer(client, execution)
                ping = {"kind": "ping", "tenant": "acme", "id": "ping"}
                await client.post("/v1/executions", json=ping)
                await client.get("/v1/executions/ping/result", params={"wait_ms": 10_000})
    logs = {one: (folder / f"{one}.log").read_text() for one in ("server", "worker")}
    return Scene(
        execution=execution,
        received=received,
        logs={name: [json.loads(line) for line in log.splitlines()] for name, log in logs.items()},
        text="".join(logs.values()),
        secrets={
            "admin key": admin,
            "key": key,
            "token": token,
            "input": "payload-in-the-dark",
            "answer": ANSWER,
        },
        request=request,
    )


async def _produce(folder: Path, url: str, environment: dict[str, str]) -> str:
    """Submit in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "producer.py", url),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode().strip()


async def _answer(client: httpx.AsyncClient, execution: str) -> tuple[str, str]:
    """Answer when it waits, and see it end; returns the token and the id of the request."""

    async def state() -> str:
        return str((await client.get(f"/v1/executions/{execution}")).json()["state"])

    async def waits() -> bool:
        return await state() == "suspended"

    async def ended() -> bool:
        return await state() == "completed"

    await wait_for(waits)
    waitpoints = (await client.get(f"/v1/executions/{execution}/waitpoints")).json()["items"]
    waitpoint = waitpoints[0]["id"]
    read = await client.get(f"/v1/executions/{execution}/waitpoints/{waitpoint}/token")
    token = read.json()["token"]
    signal = {"token": token, "name": "approve", "payload": ANSWER}
    signalled = await client.post(f"/v1/signals/{waitpoint}", json=signal)
    assert signalled.is_success, signalled.text
    await wait_for(ended)
    return token, read.headers["x-request-id"]


async def test_one_trace_from_the_submission_to_the_end(scene: Scene) -> None:
    """Every span has the parent that a reader expects, in whatever process it was made."""
    submitted = scene.span("submit review")
    called = scene.span("POST /v1/executions:batch")
    attempts = [scene.span("review", place) for place in range(3)]
    step, wait = scene.span("step fetch"), scene.span("wait approval")
    done = scene.span("POST /v1/executions/{id}/complete")
    assert submitted.parent == ""
    assert called.parent == submitted.id
    assert [one.parent for one in attempts] == [submitted.id] * 3
    assert (step.parent, wait.parent, done.parent) == tuple(one.id for one in attempts)
    assert [one.failed for one in (submitted, called, *attempts, step, wait, done)] == [
        *(False, False, True, False, False, False, False, False)
    ]
    assert {one.service for one in (submitted, called, done, *attempts, step, wait)} == {
        *("producer", "holdfast-server", "holdfast-worker")
    }


async def test_spans_say_whose_they_are(scene: Scene) -> None:
    """Tenant, execution and attempt; and of calls their route, status and request."""
    attempts = [scene.span("review", place).attributes for place in range(3)]
    expected = [(0, "initial"), (1, "retry"), (1, "retry")]
    for attributes, (number, kind) in zip(attempts, expected, strict=True):
        assert attributes == {
            "holdfast.tenant": "acme",
            "holdfast.execution": scene.execution,
            "holdfast.lane": "default",
            "holdfast.attempt": number,
            "holdfast.attempt.kind": kind,
        }
    done = scene.span("POST /v1/executions/{id}/complete")
    assert done.attributes.pop("holdfast.request")
    assert done.attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/executions/{id}/complete",
        "http.response.status_code": 200,
        "holdfast.tenant": "acme",
        "holdfast.execution": scene.execution,
    }


async def test_calls_join_the_trace_of_their_caller(scene: Scene) -> None:
    """Whoever sends a `traceparent` finds what it caused."""
    _, trace, parent, _ = CALLER.split("-")
    found = [one for one in scene.received.spans if one.trace == trace]
    (submitted,) = [one for one in found if one.name == "POST /v1/executions"]
    (attempt,) = [one for one in found if one.name == "ping"]
    (done,) = [one for one in found if one.name == "POST /v1/executions/{id}/complete"]
    assert (submitted.parent, attempt.parent, done.parent) == (parent, submitted.id, attempt.id)
    assert "GET /v1/executions/{id}/waitpoints/{wp}/token" in {one.name for one in found}


async def test_logs_are_lines_of_json_that_say_what_they_are_about(scene: Scene) -> None:
    """Tenant, execution and attempt of the worker's lines; tenant and request of the server's."""
    for lines in scene.logs.values():
        assert all({"at", "level", "logger", "message"} <= line.keys() for line in lines)
    about = {"tenant": "acme", "execution": scene.execution}
    looks = [line for line in scene.logs["worker"] if line["message"] == "looks at it"]
    assert [line["attempt"] for line in looks] == [0, 1, 1]
    (failed,) = [line for line in scene.logs["worker"] if "not yet" in line["message"]]
    for line in (*looks, failed):
        assert line.items() >= about.items()
    (read,) = [line for line in scene.logs["server"] if line.get("request") == scene.request]
    assert read["message"].endswith("/token: 200")
    assert read["execution"] == scene.execution
    done = [line for line in scene.logs["server"] if line["message"].endswith("/complete: 200")]
    assert done[0].items() >= about.items()


async def test_no_secret_is_in_logs_or_spans(scene: Scene) -> None:
    """Not even at level debug: keys, tokens, payloads."""
    for what, secret in scene.secrets.items():
        assert secret not in scene.text, what
        assert secret.encode() not in scene.received.raw, what


async def test_without_the_extra_a_server_says_so_and_runs(
    real_server: TestServer, tmp_path: Path
) -> None:
    """Where traces are asked for; submissions keep their caller's place in a trace."""
    (tmp_path / "sitecustomize.py").write_text(NO_EXTRA)
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=no-extra"
    environment = {"PYTHONPATH": str(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    async with (
        server_process(store, tmp_path, **environment) as (url, _),
        httpx.AsyncClient(base_url=url, headers={"traceparent": CALLER}) as client,
    ):
        assert (await client.post("/v1/executions", json={"kind": "work"})).status_code == 201
        claimed = await client.post("/v1/workers/w1/claim", json={"lanes": ["default"], "max": 1})
        (claim,) = claimed.json()["claims"]
        assert claim["execution"]["traceparent"] == CALLER
    lines = (tmp_path / "server.log").read_text().splitlines()
    said = {json.loads(line)["message"] for line in lines}
    assert "traces are not exported: install holdfast[otel]" in said
    assert len(said) == 2, "and that there is no API key"
