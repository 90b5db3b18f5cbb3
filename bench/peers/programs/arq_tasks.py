"""Arq."""

import asyncio
import sys

import ledger
from arq import create_pool
from arq.connections import RedisSettings


async def nothing(ctx: object, text: str) -> None:
    """Do nothing."""
    ledger.record()


class WorkerSettings:
    """How the worker runs."""

    functions = (nothing,)
    redis_settings = RedisSettings.from_dsn(ledger.URL)
    max_jobs = 100
    keep_result = 0


async def main(count: int) -> None:
    """Enqueue, with a hundred calls under way."""
    pool = await create_pool(WorkerSettings.redis_settings)
    with ledger.timing():
        for _ in range(0, count, 100):
            await asyncio.gather(*(pool.enqueue_job("nothing", ledger.PAYLOAD) for _ in range(100)))
    await pool.aclose()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
