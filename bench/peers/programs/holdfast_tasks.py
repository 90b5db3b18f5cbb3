"""Holdfast: a task, and the same with a recorded step."""

import asyncio
import sys

import ledger

from holdfast import App, Context

app = App(ledger.URL)


@app.task
async def nothing(text: str) -> None:
    """Do nothing."""
    ledger.record()


@app.task
async def stepping(ctx: Context, text: str) -> None:
    """Call a step."""
    await ctx.step("record", ledger.record)


async def main(count: int, task: str) -> None:
    """Submit them in batches."""
    async with app:
        chosen = {"nothing": nothing, "stepping": stepping}[task]
        with ledger.timing():
            await chosen.submit_many([{"text": ledger.PAYLOAD}] * count)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
