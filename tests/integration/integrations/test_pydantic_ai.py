"""Agents of Pydantic AI in tasks, with the fake models of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelRetry, RunContext, ToolReturn, models
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from holdfast import App, Chat, Context
from holdfast.errors import InvalidInput
from holdfast.integrations.pydantic_ai import HoldfastAgent
from holdfast.testing import TestApp, conversation, crash_everywhere
from tests.support import mcp_tools

models.ALLOW_MODEL_REQUESTS = False

app = App()
calls: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    calls.clear()


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call two tools, then a third, then answer."""
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    calls.append(f"model {turn}")
    if turn == 0:
        parts = [ToolCallPart("add", {"a": 1, "b": 2}), ToolCallPart("add", {"a": 3, "b": 4})]
        return ModelResponse(parts=parts)
    if turn == 1:
        return ModelResponse(parts=[ToolCallPart("picky", {"n": 1})])
    if turn == 2:
        return ModelResponse(parts=[ToolCallPart("picky", {"n": 2})])
    return ModelResponse(parts=[TextPart("done")])


agent = Agent(FunctionModel(scripted), name="clerk")


@agent.tool_plain
async def add(a: int, b: int) -> int:
    calls.append(f"add {a} {b}")
    return a + b


@agent.tool_plain
def picky(n: int) -> str:
    calls.append(f"picky {n}")
    if n == 1:
        raise ModelRetry("not 1")
    return "fine"


@app.task
async def work(ctx: Context) -> str:
    result = await HoldfastAgent(agent, stream=False).run(ctx, "go")
    return result.output


EXPECTED = ["model 0", "add 1 2", "add 3 4", "model 1", "picky 1", "model 2", "picky 2", "model 3"]


async def test_each_call_is_a_step(holdfast_store: Any) -> None:
    """Requests and tool calls are in the journal, also those that ask the model to try again."""
    async with TestApp(app, store=holdfast_store) as t:
        assert await t.run(work) == "done"
    assert calls == EXPECTED


async def test_crashes_repeat_no_call(holdfast_store: Any) -> None:
    """Wherever the worker dies, the calls before are not made again."""
    async with TestApp(app, store=holdfast_store) as t:
        report = await crash_everywhere(t, work)
    assert report.result == "done"
    runs = len(report.runs)
    assert {call: calls.count(call) for call in EXPECTED} == dict.fromkeys(EXPECTED, runs)


# People


def careful(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Ask for three calls that people decide about, then report what came back."""
    if len(messages) == 1:
        calls.append("model")
        names = ("delete", "wipe", "fetch")
        return ModelResponse(parts=[ToolCallPart(name, {"n": 1}, f"c-{name}") for name in names])
    said = [part.content for part in messages[-1].parts if part.part_kind == "tool-return"]
    return ModelResponse(parts=[TextPart(" ".join(map(str, said)))])


guarded = Agent(FunctionModel(careful), name="guarded")


@guarded.tool_plain(requires_approval=True)
def delete(n: int) -> str:
    calls.append(f"delete {n}")
    return f"deleted {n}"


@guarded.tool
def wipe(ctx: RunContext[object], n: int) -> str:
    if not ctx.tool_call_approved:
        calls.append("wipe asks")
        raise ApprovalRequired(metadata={"why": "it is large"})
    calls.append(f"wipe {n}")
    return f"wiped {n}"


@guarded.tool_plain
def fetch(n: int) -> str:
    calls.append("fetch asks")
    raise CallDeferred


@guarded.output_validator
def not_empty(output: str) -> str:
    return output or "nothing"


@app.task
async def decide(ctx: Context) -> str:
    return (await HoldfastAgent(guarded, stream=False).run(ctx, "go")).output


async def test_people_approve_and_systems_answer(holdfast_store: Any) -> None:
    """Approvals and results of deferred tools come through waitpoints, also after a crash."""
    async with TestApp(app, store=holdfast_store) as t:
        t.answer("approve:c-delete", "approve", {"override_args": {"n": 7}}, source="ann")
        t.answer("approve:c-wipe", "deny", "too large", source="bob")
        t.answer("result:c-fetch", "answer", "fetched")
        t.kill_after("guarded:1:tool:1.1:delete:2")
        result = await t.run(decide)
    assert sorted(result.split()) == ["7", "deleted", "fetched", "large", "too"]
    assert sorted(calls) == ["delete 7", "fetch asks", "model", "wipe asks"]


# Streams, budgets, conversations


talker = Agent(TestModel(custom_output_text="three short words", call_tools=[]), name="talker")


@app.task
async def talk(ctx: Context) -> str:
    return (await HoldfastAgent(talker).run(ctx, "go")).output


@app.task(budgets=["llm"])
async def spend(ctx: Context) -> str:
    durable = HoldfastAgent(talker)
    first = await durable.run(ctx, "go")
    second = await durable.run(ctx, "again", message_history=first.all_messages())
    return second.output


@app.conversation
async def chatting(chat: Chat) -> None:
    durable = HoldfastAgent(talker)
    history: list[ModelMessage] = []
    for _ in range(2):
        message = await chat.receive()
        result = await durable.run(chat, message.text, message_history=history)
        history = result.all_messages()
        await chat.say(f"{result.output} ({len(history)})")


async def test_words_go_to_the_stream(holdfast_store: Any) -> None:
    """Readers of the execution's stream get the words as the model says them."""
    async with TestApp(app, store=holdfast_store) as t:
        handle = await talk.submit()
        await t.run_until_idle()
        words = [frame.payload async for frame in handle.stream() if frame.type == "text"]
        assert b"".join(words) == b"three short words"
        assert len(words) > 1


async def test_a_spent_budget_asks_a_person(holdfast_store: Any) -> None:
    """A run over the hard limit waits until the limit is raised, and then repeats no request."""
    async with TestApp(app, store=holdfast_store) as t:
        await t.engine.budgets.create("llm", limits={"requests": {"hard": 1}}, on_hard="suspend")
        handle = await spend.submit()
        await t.run_until_idle(advance=False)
        assert await handle.state() == "suspended"
        await handle.signal("budget:llm", {"limit": 5})
        await t.run_until_idle()
        assert await t.result(handle) == "three short words"
        assert (await t.engine.budgets.get("llm")).usage["requests"] == 2


async def test_conversations_run_agents(holdfast_store: Any) -> None:
    """The history of an agent lives in the conversation; a worker that has forgotten it replays."""
    async with conversation(app, chatting, store=holdfast_store, kept=0) as talk:
        await talk.say("hello")
        await talk.expect("three short words (2)")
        await talk.say("again")
        await talk.expect("three short words (4)")


# Tools of all kinds


def curious(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call every tool once, then report what came back."""
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart(tool.name, {}) for tool in info.function_tools])
    said = [part.content for part in messages[-1].parts if part.part_kind == "tool-return"]
    shown = [f"{v.data!r}" if isinstance(v, BinaryContent) else str(v) for v in said]
    return ModelResponse(parts=[TextPart(" ".join(shown))])


class Place(BaseModel):
    """What a tool returns."""

    city: str


def picture() -> BinaryContent:
    return BinaryContent(b"\x00\xff", media_type="image/png")


def place() -> Place:
    return Place(city="Ghent")


def rich() -> ToolReturn:
    return ToolReturn("short", content=["long", picture()], metadata={"n": 1})


@app.task
async def look(ctx: Context) -> list[str]:
    async def remember() -> str:
        return await ctx.step("inner", lambda: "kept")

    viewer = Agent(FunctionModel(curious), tools=[picture, place, rich, remember], name="viewer")
    result = await HoldfastAgent(viewer, stream=False, inline={"remember"}).run(ctx, "go")
    return [result.output, *(type(part).__name__ for part in result.all_messages()[2].parts)]


async def test_results_of_tools_keep_their_types(holdfast_store: Any) -> None:
    """Binary content, models and rich results look alike in every attempt."""
    async with TestApp(app, store=holdfast_store) as t:
        t.kill_after("viewer:1:model:2")
        output, *parts = await t.run(look)
    assert output == "b'\\x00\\xff' {'city': 'Ghent'} short kept"
    assert parts.count("ToolReturnPart") == 4


async def test_mcp_calls_are_steps(holdfast_store: Any, tmp_path: Path) -> None:
    """A tool of an MCP server is called once."""
    notes = tmp_path / "notes"

    def twice(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("double", {"n": 21})])
        (part,) = messages[-1].parts
        return ModelResponse(parts=[TextPart(str(getattr(part, "content", None)))])

    toolset = MCPToolset(mcp_tools.tools(notes), init_timeout=30)
    agent = Agent(FunctionModel(twice), name="caller", toolsets=[toolset])
    own = App()

    @own.task
    async def call(ctx: Context) -> str:
        return (await HoldfastAgent(agent, stream=False).run(ctx, "go")).output

    async with TestApp(own, store=holdfast_store) as t:
        t.kill_after("caller:1:tool:1.1:double")
        async with toolset:
            assert "42" in await t.run(call)
    assert notes.read_text() == "double 21\n"


async def test_an_agent_can_be_a_task(holdfast_store: Any) -> None:
    """With an app, code outside of tasks asks the agent; without one, it is told what to do."""
    own = App()
    durable = HoldfastAgent(talker, own)
    async with TestApp(own, store=holdfast_store) as t:
        await durable.submit("go", id="one")
        await t.run_until_idle()
        assert await durable.ask("go", id="one") == "three short words"
    with pytest.raises(InvalidInput, match="give HoldfastAgent the app"):
        await HoldfastAgent(talker).ask("go")
