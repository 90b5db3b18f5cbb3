"""New code under a running execution: `ctx.version` keeps it on the code that it began with.

python examples/changing_code.py
"""

import asyncio

from holdfast import App, Context

old = App()
new = App()
charged = asyncio.Event()


def charge(order: int) -> str:
    """Charge for an order."""
    charged.set()
    return f"receipt {order}"


def check(order: int) -> bool:
    """Check an order, which only the new code does."""
    return order > 0


@old.task(name="fulfil")
async def fulfil_before(ctx: Context, order: int) -> str:
    """Charge, then wait for the parcel: the code of yesterday."""
    receipt = await ctx.step("charge", charge, order)
    await ctx.signals("parcel").get()
    return f"{receipt}, unchecked"


@new.task(name="fulfil")
async def fulfil(ctx: Context, order: int) -> str:
    """Check first. Executions that were past this line before it was written stay without it."""
    version = await ctx.version("check-first", 2)
    if version >= 2:
        await ctx.step("check", check, order)
    receipt = await ctx.step("charge", charge, order)
    await ctx.signals("parcel").get()
    return f"{receipt}, {'checked' if version >= 2 else 'unchecked'}"


async def main() -> None:
    """Begin an order with the old code, deploy the new code, and deliver both parcels."""
    async with old.worker():
        begun = await fulfil_before.submit(17)
        await charged.wait()
    async with new.worker():
        for order in (fulfil.handle(begun.id), await fulfil.submit(18)):
            await order.send("parcel")
            print(await order.result(timeout=60))


if __name__ == "__main__":
    asyncio.run(main())
