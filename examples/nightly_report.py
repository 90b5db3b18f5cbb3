"""A report that a schedule submits every night; of the nights that were missed, the last one.

python examples/nightly_report.py
"""

import asyncio

from holdfast import App, Context

app = App()


def read_sales() -> dict[str, int]:
    """Read the sales of a day; a real one asks a database."""
    return {"Ada": 1250, "Bob": 990}


def send(text: str) -> None:
    """Send the report; a real one sends a mail."""
    print(text)


@app.schedule(cron="30 2 * * *", timezone="Europe/Berlin", overlap="skip", catch_up="one")
@app.task(retries=5, timeout=600)
async def report(ctx: Context) -> int:
    """Add up what was sold. If it still runs when the next one is due, that one is skipped."""
    sales = await ctx.step("read", read_sales)
    total = sum(sales.values())
    await ctx.step("send", send, f"{len(sales)} sales, {total} cents")
    return total


async def main() -> None:
    """Show when the schedule fires next, and do not wait for the night."""
    async with app.worker():
        (coming,) = await app.engine.schedules.next_times("report", 1)
        print(f"the next report is made at {coming:%M} minutes past the hour")
        made = await app.engine.schedules.trigger("report")
        print("total:", await report.handle(made.id).result(timeout=60))


if __name__ == "__main__":
    asyncio.run(main())
