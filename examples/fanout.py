"""A FANOUT queue: every group gets all events, each at its own pace.

python examples/fanout.py
"""

import asyncio

from holdfast import App

app = App()
events = app.queue("events", str)
seen: asyncio.Queue[str] = asyncio.Queue()


@app.consumer("events", group="mail")
async def mail(event: str) -> None:
    """Write a mail about an event."""
    await seen.put(f"mail: {event}")


@app.consumer("events", group="audit")
async def audit(event: str) -> None:
    """Write down an event."""
    await seen.put(f"audit: {event}")


async def main() -> None:
    """Push two events; both groups consume both."""
    async with app:
        await events.define(mode="fanout")
        for group in ("mail", "audit"):
            await app.engine.queues.add_group("events", group)
        async with app.worker():
            await events.push("order 1")
            await events.push("order 2")
            for line in sorted([await seen.get() for _ in range(4)]):
                print(line)


if __name__ == "__main__":
    asyncio.run(main())
