"""An agent with a tool and a budget: a run that would cost too much asks a person for more.

python examples/agent.py (needs the extra pydantic-ai)
"""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from holdfast import App, Context
from holdfast.integrations.pydantic_ai import HoldfastAgent

app = App()
app.budget("llm", hard={"requests": 1}, on_hard="suspend")
agent = Agent(TestModel(), name="weather")  # a real one names a model: "openai:gpt-5.2"
durable = HoldfastAgent(agent)


@agent.tool_plain
def temperature(city: str) -> int:
    """Return the temperature of a city; a real one looks it up."""
    return 20 + len(city)


@app.task(budgets=["llm"])
async def forecast(ctx: Context, city: str) -> str:
    """Ask the agent; its requests and tool calls are recorded steps."""
    return (await durable.run(ctx, f"How warm is it in {city}?")).output


async def main() -> None:
    """Run the agent; the second request needs an answer of a person."""
    async with app.worker():
        handle = await forecast.submit("Ghent")
        while not (points := await handle.waitpoints()):
            await asyncio.sleep(0.05)
        print("asked:", points[0].title)
        await handle.signal(points[0].name, {"limit": 5})
        print(await handle.result(timeout=60))
        print("requests:", (await app.engine.budgets.get("llm")).usage["requests"])


if __name__ == "__main__":
    asyncio.run(main())
