"""A queue with a consumer, an ordering key, and a dead letter that is corrected and sent back.

python examples/queues.py
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from holdfast import App

app = App()


@dataclass
class Order:
    """The payload of a message."""

    id: int
    cents: int


orders = app.queue("orders", Order)
letters = app.queue("orders-dead", bytes)
billed = asyncio.Queue[int]()


@app.consumer("orders", retries=2)
async def bill(order: Order) -> None:
    """Bill an order. It runs as a durable execution for every message."""
    print(f"billing order {order.id}: {order.cents} cents")
    billed.put_nowait(order.id)


async def bill_orders() -> None:
    """Push three orders, one of them broken."""
    await orders.push(Order(1, 1250), key="ada")
    await app.engine.queues.push("orders", b'{"id": 2}')
    await orders.push(Order(3, 990), key="bob")
    print("billed:", sorted([await billed.get(), await billed.get()]))
    (letter,) = await letters.read(consumer="me", wait=10)
    print(f"a dead letter: {letter.value.decode()}")
    if letter.message.dead_letter is not None:
        print(f"because {letter.message.dead_letter.reason}")
    await letter.ack(orders.pushing(Order(2, 0)))
    print(f"corrected and billed: order {await billed.get()}")


async def main() -> None:
    """Define the queue, then run a worker that consumes it."""
    async with app:
        await orders.define(dead_letter="orders-dead")
        async with app.worker():
            await bill_orders()


if __name__ == "__main__":
    asyncio.run(main())
