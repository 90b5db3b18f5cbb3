"""Integrations whose app is connected to a server over HTTP, or to a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent as OpenAIAgent
from agents import function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import StreamingResponse

from holdfast import App, Context
from holdfast.engine import open_engine
from holdfast.integrations.fastapi import follow, lifespan
from holdfast.integrations.openai_agents import HoldfastRunner
from holdfast.integrations.pydantic_ai import HoldfastAgent
from holdfast.integrations.sqlalchemy import metadata, relay, submit
from holdfast.model.ids import new_id
from holdfast.model.waitpoints import NewSignal
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing import wait_for
from holdfast.testing.servers import TestServer


async def test_an_outbox_and_a_stream_over_http(url: str, tmp_path: Path) -> None:
    """A relay submits through the server, and a web application follows through it."""
    database = create_engine(f"sqlite:///{tmp_path}/far.db")
    metadata.create_all(database)
    settings = ServerSettings(port=0)
    async with open_engine(url) as engine, serving(engine, settings) as (_, address):
        app = App(address)

        @app.task
        async def greet(ctx: Context, name: str) -> str:
            await ctx.stream.text(f"hello {name}")
            return name

        with Session(database) as session, session.begin():
            id = submit(session, greet.options(retries=1, tags={"from": "outbox"}), "Ghent")
        async with lifespan(app)(None) as state, relay(app, database) as outbox:
            await outbox.flush()
            assert await greet.handle(id).result(timeout=20) == "Ghent"
            assert (await app.engine.describe(id)).tags == {"from": "outbox"}
            reply = await follow(Request({"type": "http", "headers": [], "state": state}), id)
            assert isinstance(reply, StreamingResponse)
            shown = "".join([str(each, "utf8") async for each in reply.body_iterator])  # type: ignore[arg-type]
            assert "hello Ghent" in shown
            assert shown.endswith('event: end\ndata: {"state":"completed"}\n\n')
    database.dispose()


@pytest.fixture(params=["http", "cluster"])
async def place(request: pytest.FixtureRequest, url: str) -> AsyncIterator[str]:
    """The address of a server, or the URL of a cluster."""
    if request.param == "cluster":
        nodes: list[TestServer] = request.getfixturevalue("cluster_nodes")
        places = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        yield f"valkey-cluster://{places}?partitions=16&prefix=a{new_id()}"
        return
    settings = ServerSettings(port=0)
    async with open_engine(url) as engine, serving(engine, settings) as (_, address):
        yield address


async def test_agents_run_in_a_worker_over_http_and_on_a_cluster(place: str) -> None:
    """A person approves the tool; the second attempt repeats no call."""
    set_tracing_disabled(disabled=True)
    app, calls = App(place), []

    def clerk(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        calls.append("request")
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("refund", {"order": 7}, "c1")])
        return ModelResponse(parts=[TextPart("refunded")])

    first = Agent(FunctionModel(clerk), name="clerk")

    @first.tool_plain(requires_approval=True)
    def refund(order: int) -> str:
        calls.append(f"refund {order}")
        return "done"

    @function_tool(needs_approval=True)
    def repay(order: int) -> str:
        """Repay an order."""
        calls.append(f"repay {order}")
        return "done"

    @app.task(retries=1)
    async def pydantic(ctx: Context) -> str:
        result = await HoldfastAgent(first, stream=False).run(ctx, "go")
        return _second(ctx, result.output)

    @app.task(retries=1)
    async def openai(ctx: Context) -> str:
        script: Any = [[function_call("repay", {"order": 8}, call_id="c2")]]
        model = ScriptedModel([*script, [assistant_message("repaid")]])
        second = OpenAIAgent(name="second", tools=[repay], model=model)
        result = await HoldfastRunner.run(ctx, second, "go", stream=False)
        return _second(ctx, str(result.final_output))

    async with app.worker():
        for task, answer in ((pydantic, "refunded"), (openai, "repaid")):
            handle = await task.submit()

            async def asked() -> str:
                found = await app.engine.waitpoints.inbox()
                return found.items[0].waitpoint.id if found.items else ""

            waitpoint = await wait_for(asked, timeout_s=30)
            await app.engine.waitpoints.signal(NewSignal(waitpoint=waitpoint, name="approve"))
            assert await handle.result(timeout=30) == answer
            assert len(await app.engine.attempts(handle.id)) == 2
    assert calls == ["request", "refund 7", "request", "repay 8"]


def _second(ctx: Context, output: str) -> str:
    """Fail the first attempt after its agent has ended."""
    if ctx.attempt == 0:
        raise ConnectionError
    return output
