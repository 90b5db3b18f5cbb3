"""Taskiq, with its broker of streams, which acknowledges."""

import asyncio
import sys

import ledger
from taskiq_redis import RedisStreamBroker

broker = RedisStreamBroker(ledger.URL)


@broker.task
async def nothing(text: str) -> None:
    """Do nothing."""
    ledger.record()


async def main(count: int) -> None:
    """Enqueue, with a hundred calls under way."""
    await broker.startup()
    with ledger.timing():
        for _ in range(0, count, 100):
            await asyncio.gather(*(nothing.kiq(ledger.PAYLOAD) for _ in range(100)))
    await broker.shutdown()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
