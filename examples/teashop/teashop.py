"""A small shop as an app: orders, refunds that people approve, texts that cost money.

`make run` starts it, with people who use it. Change it while it runs: it reloads when you save.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Literal

from holdfast import App, Context, Denied, GiveUp, Join

app = App()
app.quota("carrier", concurrent=2)  # the carrier allows two calls at once
app.budget("texts", hard={"tokens": 50_000}, soft={"tokens": 30_000}, reset=86_400)
app.budget("assistant", hard={"tokens": 20_000}, reset=86_400)  # the bot of that name spends it


class CardDeclined(GiveUp):
    """Trying again does not help."""


# An order. A crash at any line continues after the last line that was recorded.


@app.task
async def fulfil(ctx: Context, order: int, cents: int) -> str:
    """Take an order from the payment to the parcel."""
    await ctx.step("reserve", reserve, order)
    await ctx.result(await ctx.submit(charge, order, cents))
    await ctx.progress(40, "paid")
    await ctx.sleep(4, name="packing")  # holds no worker
    parcel = await ctx.result(await ctx.submit(print_label, order))
    await ctx.progress(90, "packed")
    await ctx.step("thank", "thank you for order {}".format, order)
    return parcel


def reserve(order: int) -> dict[str, int]:
    """Take the things off the shelf."""
    return {"shelf": order % 12}


@app.task(retries=3, timeout=30)
async def charge(ctx: Context, order: int, cents: int) -> str:
    """Charge a card: some are declined, and the provider fails now and then."""
    ctx.logger.info("charging %d cents", cents)
    await asyncio.sleep(random.uniform(0.1, 0.8))
    if order % 9 == 0:
        raise CardDeclined("the bank has declined the card: no funds")
    if order % 4 == 0 and ctx.attempt == 0:
        raise ConnectionError("the payment provider did not answer within 3 s")
    return await ctx.step("charge", f"charge-{order}".upper)


@app.task(quotas=["carrier"])
async def print_label(order: int) -> str:
    """Ask the carrier for a label."""
    await asyncio.sleep(random.uniform(0.3, 1.2))
    if order % 13 == 0:
        raise LookupError("the carrier does not know the address")
    return f"parcel-{order}"


# People decide. The wait may take days; it costs nothing and survives everything.


@dataclass
class Decision:
    """The form in the inbox of the console."""

    approved: bool
    reason: Literal["damaged", "late", "goodwill"]
    note: str = ""


@app.task
async def refund(ctx: Context, order: int, cents: int) -> str:
    """Give money back if a person agrees."""
    title = f"Refund {cents / 100:.2f} EUR for order {order}?"
    question = await ctx.waitpoint("refund", title=title, schema=Decision)
    decision = await ctx.wait_for(question, timeout=3 * 86_400)
    if not decision.approved:
        return f"kept: {decision.reason}"
    return await ctx.step("pay", f"refund-{order}".upper)


@app.task
async def open_branch(ctx: Context, city: str) -> str:
    """Open a branch if two people agree."""
    try:
        await ctx.wait_for("branch", title=f"Open a branch in {city}?", approvers=2)
    except Denied as denied:
        return f"denied by {denied.source.identity}"
    return f"{city} opens"


# Texts are streamed while they are written, and paid for by a budget.


@app.task(budgets=["texts"])
async def describe(ctx: Context, product: str) -> int:
    """Write the text of a product, word by word."""
    words = f"A {product} that outlives fashions, made by hand and sent within a day.".split()
    async with ctx.budget.reserve(tokens=2_000) as reserved:
        for word in words:
            await ctx.stream.text(f"{word} ")
            await asyncio.sleep(0.1)
        reserved.settle(tokens=len(words) * 70)
    await ctx.budget.report(cents=2)
    return len(words)


# The day's sales, as a graph: any till that fails raises the alarm.


@app.task(retries=1)
async def read_till(city: str) -> int:
    """Read what a branch has sold."""
    await asyncio.sleep(random.uniform(0.1, 0.5))
    if city == "Oslo":
        raise ConnectionError("the till in Oslo is offline")
    return len(city) * 1_000


@app.task
async def add_up(sales: list[int]) -> int:
    """Add up what the branches have sold."""
    return sum(sales)


@app.task
async def alarm() -> str:
    """Say that the figures are not complete."""
    return "The sales of a branch are missing."


async def report(cities: list[str]) -> str:
    """Submit the graph of a day, and return its id."""
    async with app.graph() as graph:
        tills = graph.map(read_till, cities)
        graph.reduce(add_up, tills)
        graph.add(alarm, after=[till.failed for till in tills], join=Join.any())
    return graph.id


# Work by the clock, from a queue, for a month, and for a machine that nobody has.


@app.schedule(every=20, id="restock")
@app.task
async def restock() -> int:
    """Order what is running out."""
    return random.randrange(10)


@app.schedule(cron="30 6 * * MON-FRI", timezone="Europe/Berlin", id="count", args={"shelves": 120})
@app.task
async def count_stock(ctx: Context, shelves: int) -> int:
    """Count every shelf, which takes a while."""
    for shelf in range(shelves):
        await asyncio.sleep(1)
        await ctx.progress(shelf * 100 / shelves, f"shelf {shelf}")
    return shelves


@dataclass
class Parcel:
    """A parcel that came back."""

    order: int
    damaged: bool


@app.consumer("returns")
async def take_back(parcel: Parcel) -> str:
    """Put a parcel back on its shelf."""
    return "bin" if parcel.damaged else f"shelf {parcel.order % 12}"


@app.task
async def renew(ctx: Context, customer: str) -> str:
    """Renew a subscription in a month."""
    await ctx.sleep(30 * 86_400, name="a month")
    return f"{customer} gets another month of tea"


@app.task(requires=["gpu"])
async def render_film(product: str) -> str:
    """Render a film of a product, on a worker with a graphics card."""
    return f"{product}.mp4"
