"""Cancellation and timeouts: an attempt that is too slow, one that is cancelled, one too late.

python examples/timeouts.py
"""

import asyncio

from holdfast import App, Context, WorkerSettings
from holdfast.errors import ExecutionFailed

app = App()
started = asyncio.Event()
cleaned = asyncio.Event()


@app.task(retries=3, timeout=1)
async def slow(ctx: Context) -> str:
    """Hang at the first attempt. The timeout ends it, and the next one is quick."""
    if ctx.attempt == 0:
        await asyncio.Event().wait()
    return "the second attempt was quick"


@app.task
async def endless() -> None:
    """Run until somebody cancels it; `finally` cleans up."""
    try:
        started.set()
        await asyncio.Event().wait()
    finally:
        cleaned.set()


@app.task
async def late() -> None:
    """Never run: its deadline passes while it waits for its time."""


async def main() -> None:
    """Run all three."""
    # A worker finds out that it lost a lease within a third of it.
    async with app.worker(WorkerSettings(lease_ms=1_000)):
        print(await (await slow.submit()).result(timeout=60))
        running = await endless.submit()
        await started.wait()
        await running.cancel("not needed any more")
        await cleaned.wait()
        for handle in (running, await late.options(delay=60, deadline=0.2).submit()):
            try:
                await handle.result(timeout=60)
            except ExecutionFailed as failed:
                print(failed.message.partition(" ended as ")[2])


if __name__ == "__main__":
    asyncio.run(main())
