"""The workloads: the life of executions and a raw list queue, through the same client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from holdfast.api import Engine
from holdfast.model.executions import Claim, NewExecution
from holdfast.store.valkey.client import Client

SUBMIT_BATCH = 100
CLAIM_BATCH = 100
#: Batches of submissions, and claimers, in flight at once.
WIDTH = 4
LEASE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Rate:
    """A count and the time that it took."""

    count: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Per second."""
        return self.count / self.seconds


async def timed(count: int, work: Callable[[], Awaitable[None]]) -> Rate:
    """Time a piece of work."""
    start = time.perf_counter()
    await work()
    return Rate(count, time.perf_counter() - start)


async def spread(batches: int, work: Callable[[], Awaitable[object]]) -> None:
    """Run batches, several at once."""
    left = batches

    async def go_on() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await work()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(WIDTH):
            tasks.create_task(go_on())


async def submit(engine: Engine, count: int, payload: bytes) -> None:
    """Submit in batches."""
    items = [NewExecution(kind="bench", input=payload) for _ in range(SUBMIT_BATCH)]
    await spread(count // SUBMIT_BATCH, lambda: engine.submit_many(items))


async def drain(engine: Engine, count: int) -> None:
    """Claim and complete until this many are done."""
    left = count

    async def work(number: int) -> None:
        nonlocal left
        async with engine.claimer(worker=f"bench-{number}") as claimer:
            while left > 0:
                claims = await claimer.claim(min(CLAIM_BATCH, left), LEASE_MS, wait_ms=100)
                left -= len(claims)
                await asyncio.gather(*(complete(claim) for claim in claims))

    async def complete(claim: Claim) -> None:
        await engine.complete(claim.id, claim.lease, b'"done"')

    async with asyncio.TaskGroup() as tasks:
        for number in range(WIDTH):
            tasks.create_task(work(number))


async def end_to_end(engine: Engine, count: int, payload: bytes) -> None:
    """Submit and drain at the same time."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(submit(engine, count, payload))
        tasks.create_task(drain(engine, count))


async def raw_push(client: Client, key: str, count: int, payload: bytes) -> None:
    """Push to a list, one item per call; the client coalesces the calls."""

    async def push() -> None:
        calls = (client.call(["RPUSH", key, payload]) for _ in range(SUBMIT_BATCH))
        await asyncio.gather(*calls)

    await spread(count // SUBMIT_BATCH, push)


async def raw_drain(client: Client, key: str, count: int) -> None:
    """Pop from the list and set a result for each item."""
    left = count

    async def work(number: int) -> None:
        nonlocal left
        while left > 0:
            reply = await client.call(["LMPOP", "1", key, "LEFT", "COUNT", str(CLAIM_BATCH)])
            if not isinstance(reply, list):
                await asyncio.sleep(0)
                continue
            _, items = reply
            left -= len(items)
            results = (
                client.call(["SET", f"{key}:r:{number}:{left + n}", b'"done"'])
                for n, _ in enumerate(items)
            )
            await asyncio.gather(*results)

    async with asyncio.TaskGroup() as tasks:
        for number in range(WIDTH):
            tasks.create_task(work(number))


async def raw_end_to_end(client: Client, key: str, count: int, payload: bytes) -> None:
    """Push and drain at the same time."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(raw_push(client, key, count, payload))
        tasks.create_task(raw_drain(client, key, count))


async def wake_up_latencies(engine: Engine, rounds: int) -> list[float]:
    """Seconds from submit to a finished claim by a worker that was asleep."""
    latencies = []
    async with engine.claimer(worker="idle") as claimer:
        for _ in range(rounds):
            waiting = asyncio.ensure_future(claimer.claim(1, LEASE_MS, wait_ms=5_000))
            await asyncio.sleep(0.003)
            start = time.perf_counter()
            await engine.submit("bench")
            (claim,) = await waiting
            latencies.append(time.perf_counter() - start)
            await engine.complete(claim.id, claim.lease)
    return latencies
