"""Agents of the OpenAI Agents SDK whose process dies before every call."""

from __future__ import annotations

from typing import Any

from agents import (
    Agent,
    GuardrailFunctionOutput,
    function_tool,
    input_guardrail,
    set_tracing_disabled,
)
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from holdfast import App, Context
from holdfast.integrations.openai_agents import HoldfastRunner
from tests.acceptance.apps.mortal import happens

set_tracing_disabled(disabled=True)

app = App()


def model(name: str, *turns: Any) -> ScriptedModel:
    """Return a model that answers by how many results it has seen."""

    def respond(call: Any) -> Any:
        items = call.input if isinstance(call.input, list) else []
        turn = sum(item.get("type") == "function_call_output" for item in items)
        happens(f"{name} {turn}")
        return ModelStep(output=[turns[turn]])

    return ScriptedModel([ModelStep.respond(respond) for _ in range(9)])


@function_tool
def add(n: int) -> int:
    """Add one."""
    happens(f"add {n}")
    return n + 1


@input_guardrail
def polite(_context: Any, _agent: Any, _given: Any) -> GuardrailFunctionOutput:
    """Approve."""
    happens("guardrail")
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


clerk = Agent[Any](
    name="clerk",
    tools=[add],
    model=model(
        "clerk", None, function_call("add", {"n": 1}, call_id="a"), assistant_message("[2]")
    ),
)
desk = Agent[Any](
    name="desk",
    handoffs=[clerk],
    input_guardrails=[polite],
    model=model("desk", function_call("transfer_to_clerk", {}, call_id="h")),
)


@app.task(name="openai_agents")
async def work(ctx: Context) -> str:
    """Run the agents."""
    return str((await HoldfastRunner.run(ctx, desk, "go", stream=False)).final_output)
