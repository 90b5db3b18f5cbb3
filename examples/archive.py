"""A failed execution that is replayed from a step, then moves to an archive and stays readable.

python examples/archive.py
"""

import asyncio
import os
import tempfile

from holdfast import App, Context, Handle
from holdfast.archive import Archiver, open_archive, set_archive
from holdfast.engine import Engine, open_engine
from holdfast.errors import ExecutionFailed

app = App()
prices = {"tea": 0}


@app.task
async def invoice(ctx: Context, thing: str) -> str:
    """Write an invoice."""
    number = await ctx.step("number", lambda: 17)
    price = await ctx.step("price", lambda: prices[thing])
    if price == 0:
        raise ValueError("the price is missing")
    return f"invoice {number}: {price} cents"


async def fail_and_replay(engine: Engine) -> Handle[str]:
    """Fail, correct the price, and replay from there: the number stays the same."""
    handle = await invoice.submit("tea")
    try:
        await handle.result(timeout=60)
    except ExecutionFailed as failed:
        print("failed:", failed.context["error"]["message"])
    prices["tea"] = 300
    await engine.replay(handle.id, from_step="price", reason="the price was missing")
    print(await handle.result(timeout=60))
    return handle


async def move(engine: Engine, id: str) -> None:
    """Archive what has ended, as a server does in the background."""
    archive = await open_archive(engine.store)
    archiver = Archiver(engine.store, archive.objects)
    # It has ended, and moves when a timer of the store has found that its retention is over.
    while not (await archiver.run_once()).archived:
        await asyncio.sleep(0.1)
    row = await archive.get(id)
    print(f"archived as {row.describe().state}: {row.outcome().result!r}")


async def main() -> None:
    """Keep ended executions for no time at all, so that there is something to archive."""
    url = os.environ.get("HOLDFAST_STORE", "embedded://.holdfast")
    with tempfile.TemporaryDirectory() as folder:
        async with open_engine(url) as engine:
            await set_archive(engine.store, f"file://{folder}")
            await engine.lanes.set_retention({"completed": 0})
            async with app.attach(engine).worker():
                handle = await fail_and_replay(engine)
            await move(engine, handle.id)


if __name__ == "__main__":
    asyncio.run(main())
