"""Agents of the OpenAI Agents SDK in tasks, with the scripted model of the package."""

from __future__ import annotations

from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    Usage,
    function_tool,
    input_guardrail,
    output_guardrail,
    set_tracing_disabled,
)
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from holdfast import App, Context
from holdfast.errors import InvalidInput
from holdfast.integrations.openai_agents import HoldfastRunner
from holdfast.testing import TestApp, crash_everywhere

set_tracing_disabled(True)

app = App()
calls: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    calls.clear()


class Script:
    """Answers by how often the conversation has been answered, whichever process asks."""

    def __init__(self, name: str, *outputs: list[Any]) -> None:
        self._name = name
        self._outputs = outputs

    def __call__(self, call: Any) -> Any:
        items = call.input if isinstance(call.input, list) else []
        turn = sum(item.get("type") == "function_call_output" for item in items)
        calls.append(f"{self._name} {turn}")
        return ModelStep(output=self._outputs[turn], usage=Usage(1, input_tokens=3, output_tokens=2))


def model(name: str, *outputs: list[Any]) -> ScriptedModel:
    script = Script(name, *outputs)
    return ScriptedModel([ModelStep.respond(script) for _ in range(200)])


@function_tool
def add(a: int, b: int) -> int:
    """Add."""
    calls.append(f"add {a} {b}")
    return a + b


@input_guardrail
async def polite(context: Any, agent: Any, input: Any) -> GuardrailFunctionOutput:
    calls.append("polite")
    return GuardrailFunctionOutput(output_info={"ok": True}, tripwire_triggered="rude" in str(input))


@output_guardrail
async def short(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
    calls.append("short")
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


def team() -> Agent[Any]:
    clerk = Agent(
        name="clerk",
        tools=[add],
        output_guardrails=[short],
        model=model(
            "clerk",
            [],
            [
                function_call("add", {"a": 1, "b": 2}, call_id="c1"),
                function_call("add", {"a": 3, "b": 4}, call_id="c2"),
            ],
            [],
            [assistant_message("10")],
        ),
    )
    desk = Agent(
        name="desk",
        handoffs=[clerk],
        input_guardrails=[polite],
        model=model("desk", [function_call("transfer_to_clerk", {}, call_id="h1")]),
    )
    clerk.handoffs = [desk]
    return desk


@app.task
async def work(ctx: Context, words: str = "go") -> str:
    result = await HoldfastRunner.run(ctx, team(), words, stream=False)
    return str(result.final_output)


EXPECTED = ["polite", "desk 0", "clerk 1", "add 1 2", "add 3 4", "clerk 3", "short"]


async def test_each_call_is_a_step(holdfast_store: Any) -> None:
    """Models, tools, handoffs and guardrails."""
    async with TestApp(app, store=holdfast_store) as t:
        assert await t.run(work) == "10"
    assert calls == EXPECTED


async def test_crashes_repeat_no_call(holdfast_store: Any) -> None:
    """Wherever the worker dies, the calls before are not made again."""
    async with TestApp(app, store=holdfast_store) as t:
        report = await crash_everywhere(t, work)
    assert {call: calls.count(call) for call in EXPECTED} == dict.fromkeys(EXPECTED, len(report.runs))
