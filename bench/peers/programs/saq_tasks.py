"""SAQ, with its queue on Redis."""

import asyncio
import sys

import ledger
from saq import Queue

queue = Queue.from_url(ledger.URL)


async def nothing(ctx: object, *, text: str) -> None:
    """Do nothing."""
    ledger.record()


settings = {"queue": queue, "functions": [nothing], "concurrency": 100}


async def main(count: int) -> None:
    """Enqueue, with a hundred calls under way."""
    await queue.connect()
    with ledger.timing():
        for _ in range(0, count, 100):
            await asyncio.gather(
                *(queue.enqueue("nothing", text=ledger.PAYLOAD) for _ in range(100))
            )
    await queue.disconnect()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
