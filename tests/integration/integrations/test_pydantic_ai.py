"""Agents of Pydantic AI in tasks, with the fake models of the package."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry, RunContext, models
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from holdfast import App, Context
from holdfast.integrations.pydantic_ai import HoldfastAgent
from holdfast.testing import TestApp, crash_everywhere

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
def add(a: int, b: int) -> int:
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
