"""Steps that never run twice. Run it twice: `python examples/durable_steps.py`.

The first run kills itself right after it has charged the card, as a power cut would. The second
run finds the same order in the store and continues after the charge.
"""

from __future__ import annotations

import asyncio
import os
import signal

from holdfast import App, Context, WorkerSettings

app = App()


def charge(card: str, cents: int) -> str:
    """Take the money. This must happen only once."""
    print(f"charging {card}: {cents} cents", flush=True)
    return f"receipt-{cents}"


def ship(order: int) -> str:
    """Send the goods."""
    print(f"shipping order {order}", flush=True)
    return f"parcel-{order}"


@app.task
async def fulfil(ctx: Context, order: int, cents: int) -> dict[str, str]:
    """Charge, then ship. Each is a step, recorded before the next line runs."""
    receipt = await ctx.step("charge", charge, "card-4711", cents)
    if ctx.attempt == 0:
        print("pulling the plug", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    await ctx.sleep(1.5)
    parcel = await ctx.step("ship", ship, order)
    return {"receipt": receipt, "parcel": parcel}


async def main() -> None:
    """Run a worker until the order is fulfilled."""
    # A dead worker is noticed when its lease expires: after 30 s by default, 2 s in this example.
    async with app.worker(WorkerSettings(lease_ms=2_000)):
        # With this id, both runs refer to the same order.
        handle = await fulfil.options(id="order-7").submit(7, cents=1250)
        print("order 7 already exists" if handle.duplicate else "order 7 is new", flush=True)
        print("done:", await handle.result())


if __name__ == "__main__":
    asyncio.run(main())
