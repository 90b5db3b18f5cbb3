"""Agents of the OpenAI Agents SDK in tasks, with the scripted model of the package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    LocalShellTool,
    RunConfig,
    ToolOutputImage,
    Usage,
    function_tool,
    input_guardrail,
    output_guardrail,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStdio
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from holdfast import App, Context
from holdfast.errors import InvalidInput
from holdfast.integrations.openai_agents import HoldfastRunner
from holdfast.testing import TestApp, crash_everywhere
from tests.support import mcp_tools

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
        """Return the outputs of a turn."""
        items = call.input if isinstance(call.input, list) else []
        turn = sum(item.get("type") == "function_call_output" for item in items)
        calls.append(f"{self._name} {turn}")
        return ModelStep(
            output=self._outputs[turn], usage=Usage(1, input_tokens=3, output_tokens=2)
        )


def model(name: str, *outputs: list[Any]) -> ScriptedModel:
    script = Script(name, *outputs)
    return ScriptedModel([ModelStep.respond(script) for _ in range(200)])


@function_tool
def add(a: int, b: int) -> int:
    """Add."""
    calls.append(f"add {a} {b}")
    return a + b


@input_guardrail
async def polite(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
    calls.append("polite")
    return GuardrailFunctionOutput(
        output_info={"ok": True}, tripwire_triggered="rude" in str(given)
    )


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
    assert {call: calls.count(call) for call in EXPECTED} == dict.fromkeys(
        EXPECTED, len(report.runs)
    )


async def test_a_tripped_guardrail_is_recorded(holdfast_store: Any) -> None:
    """The model is not asked, and the verdict stands in later attempts."""

    @app.task(name="judged")
    async def judged(ctx: Context) -> str:
        try:
            await HoldfastRunner.run(ctx, team(), "a rude word", stream=False)
        except InputGuardrailTripwireTriggered:
            return await ctx.step("refused", lambda: "refused")
        return "served"

    async with TestApp(app, store=holdfast_store) as t:
        t.kill_after("refused")
        assert await t.run(judged) == "refused"
    assert calls == ["polite"]


@function_tool(needs_approval=True)
def delete(n: int) -> str:
    """Delete."""
    calls.append(f"delete {n}")
    return f"deleted {n}"


def careful() -> Agent[Any]:
    asked = [function_call("delete", {"n": n}, call_id=f"d{n}") for n in (1, 2)]
    return Agent(
        name="careful",
        tools=[delete],
        model=model("careful", asked, [], [assistant_message("done")]),
    )


@app.task
async def decide(ctx: Context) -> list[str]:
    result = await HoldfastRunner.run(ctx, careful(), "go", stream=False)
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    return [str(result.final_output), *map(str, outputs)]


async def test_people_approve_tools(holdfast_store: Any) -> None:
    """Approvals come through waitpoints, also after a crash."""
    async with TestApp(app, store=holdfast_store) as t:
        t.answer("approve:d1", "approve", source="ann")
        t.answer("approve:d2", "deny", "too much", source="bob")
        t.kill_after("careful:1:tool:delete:d1:1")
        output, *outputs = await t.run(decide)
    assert (output, sorted(outputs)) == ("done", ["deleted 1", "too much"])
    assert calls == ["careful 0", "delete 1", "careful 2"]


@app.task(budgets=["llm"])
async def talk(ctx: Context) -> str:
    agent = Agent(name="talker")
    config = RunConfig(model=model("talker", [assistant_message("three short words")]))
    first = await HoldfastRunner.run(ctx, agent, "go", run_config=config)
    second = await HoldfastRunner.run(
        ctx, first.last_agent, [*first.to_input_list(), {"role": "user", "content": "again"}],
        run_config=config,
    )  # fmt: skip
    return str(second.final_output)


async def test_words_are_streamed_and_a_spent_budget_asks(holdfast_store: Any) -> None:
    """Words go to the stream; a run over the hard limit waits, and then repeats no request."""
    async with TestApp(app, store=holdfast_store) as t:
        await t.engine.budgets.create("llm", limits={"tokens": {"hard": 7}}, on_hard="suspend")
        handle = await talk.submit()
        await t.run_until_idle(advance=False)
        assert await handle.state() == "suspended"
        await handle.signal("budget:llm", {"limit": 50})
        await t.run_until_idle()
        assert await t.result(handle) == "three short words"
        words = [frame.payload async for frame in handle.stream() if frame.type == "text"]
        assert b"".join(words) == b"three short words" * 2
        assert (await t.engine.budgets.get("llm")).usage["tokens"] == 10
    assert calls == ["talker 0", "talker 0"]


@function_tool
def picture() -> ToolOutputImage:
    """Take a picture."""
    return ToolOutputImage(image_url="https://example.org/a.png")


async def test_mcp_calls_and_rich_results_are_steps(holdfast_store: Any, tmp_path: Path) -> None:
    """A tool of an MCP server is called once; images come back as images."""
    notes = tmp_path / "notes"
    own = App()
    asked = [
        function_call("double", {"n": 21}, call_id="m1"),
        function_call("picture", {}, call_id="p1"),
    ]
    script = {"command": sys.executable, "args": [mcp_tools.__file__, str(notes)]}
    async with MCPServerStdio(params=script, client_session_timeout_seconds=30) as server:  # type: ignore[arg-type]

        @own.task
        async def call(ctx: Context) -> str:
            agent = Agent(
                name="caller",
                tools=[picture],
                mcp_servers=[server],
                model=model("caller", asked, [], [assistant_message("done")]),
            )
            result = await HoldfastRunner.run(ctx, agent, "go", stream=False)
            outputs = [i.output for i in result.new_items if i.type == "tool_call_output_item"]
            return str(outputs)

        async with TestApp(own, store=holdfast_store) as t:
            t.kill_after("caller:1:model:2")
            outputs = await t.run(call)
    assert "42" in outputs
    assert "ToolOutputImage" in outputs
    assert notes.read_text() == "double 21\n"


async def test_what_cannot_be_repeated_is_refused(holdfast_store: Any) -> None:
    """Sessions, and tools that act without a function."""
    own = App()

    @own.task
    async def wrong(ctx: Context, what: str) -> None:
        shell = Agent[Any](name="shell", tools=[LocalShellTool(executor=str)])
        given: dict[str, Any] = {"session": object()} if what == "session" else {}
        await HoldfastRunner.run(ctx, shell, "go", **given)

    async with TestApp(own, store=holdfast_store) as t:
        for what, message in (("session", "keep `to_input_list"), ("shell", "cannot be a step")):
            with pytest.raises(InvalidInput, match=message):
                await t.call(wrong, what)
