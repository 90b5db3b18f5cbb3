"""A task that streams while it runs, and a retry that the reader sees.

Run it: `python examples/streaming.py`. A schedule submits the task; the script triggers it by hand.
"""

from __future__ import annotations

import asyncio

from holdfast import App, Backoff, Context, RetryPolicy

app = App()

AT_ONCE = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))


@app.schedule(cron="0 7 * * MON-FRI", timezone="Europe/Berlin", args={"name": "Ada"})
@app.task(retries=AT_ONCE)
async def greet(ctx: Context, name: str) -> int:
    """Greet a person word by word. The first attempt fails after three words."""
    words = f"Good morning {name}, how are you?".split()
    for number, word in enumerate(words):
        await ctx.stream.text(f"{word} ")
        if ctx.attempt == 0 and number == 2:
            raise ConnectionError("the line is dead")
    await ctx.stream.summary({"words": len(words), "asked": True})
    return len(words)


async def main() -> None:
    """Trigger the schedule and print the stream."""
    async with app.worker():
        made = await app.engine.schedules.trigger("greet")
        handle = greet.handle(made.id)
        async for frame in handle.stream():
            if frame.type == "text":
                print(frame.text, end="")
            elif frame.type == "attempt":
                print("... trying again:")
        print(f"\n{frame.state}: {await handle.summary()}")


if __name__ == "__main__":
    asyncio.run(main())
