"""An agent of Pydantic AI whose process dies before every call."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from holdfast import App, Context
from holdfast.integrations.pydantic_ai import HoldfastAgent
from tests.acceptance.apps.mortal import happens

app = App()


def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Call a tool twice, then say what came of it."""
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    happens(f"model {turn}")
    if turn < 2:
        return ModelResponse(parts=[ToolCallPart("add", {"n": turn})])
    returned = [
        part.content for m in messages for part in m.parts if part.part_kind == "tool-return"
    ]
    return ModelResponse(parts=[TextPart(str(returned))])


agent = Agent(FunctionModel(answer), name="clerk")


@agent.tool_plain
def add(n: int) -> int:
    """Add one."""
    happens(f"tool {n}")
    return n + 1


@app.task(name="pydantic_ai")
async def work(ctx: Context) -> str:
    """Run the agent."""
    return (await HoldfastAgent(agent, stream=False).run(ctx, "go")).output
