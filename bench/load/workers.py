"""Many registered workers: their memory, their heartbeats, lists of them, claims beside them."""

from __future__ import annotations

import asyncio
import sys
import time
from statistics import median

from bench.http import Connection, serving
from bench.load.beside import batches, compared, measure_beside
from bench.meter import Meter
from holdfast.engine import Engine

TTL_MS = 3_600_000
ROUNDS = 10


async def measure_workers(engine: Engine, store: str, count: int) -> dict[str, float]:
    """Register workers on an empty store and measure beside them."""
    meter = Meter(engine)
    before = await measure_beside(engine)
    used = await meter.used()
    await _beat_all(engine, count, busy=0)
    figures = {"bytes per worker": (await meter.used() - used) / count}
    changed = await meter.cost(count, lambda: _beat_all(engine, count, busy=1))
    same = await meter.cost(count, lambda: _beat_all(engine, count, busy=1))
    figures |= {"heartbeat, us": same, "heartbeat with a change, us": changed}
    took: list[float] = []

    async def look() -> None:
        for _ in range(ROUNDS):
            started = time.perf_counter()
            if len(await engine.workers.list()) != count:
                raise RuntimeError("a worker is missing")
            took.append((time.perf_counter() - started) * 1000)

    figures["longest call of the store in a list, ms"] = await meter.longest(look)
    figures["list, p50 ms"] = median(took)
    figures["page of 50 over HTTP, p50 ms"] = await _page(store)
    figures["`holdfast workers`, ms"] = await _command(store)
    after = await measure_beside(engine)
    return figures | compared(before, after)


async def _beat_all(engine: Engine, count: int, *, busy: int) -> None:
    for some in batches(count):
        await asyncio.gather(*(_beat(engine, number, busy) for number in some))


async def _beat(engine: Engine, number: int, busy: int) -> None:
    instance = f"host-{number:06}.workers.example-{number:06}"
    await engine.workers.register(
        instance, worker="mailer", lanes=("default",), slots=10, busy=busy, ttl_ms=TTL_MS
    )


async def _page(store: str) -> float:
    async with serving(store) as (_, address):
        connection = await Connection.open(address)
        took = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            await connection.call("GET", "/v1/workers?limit=50")
            took.append((time.perf_counter() - started) * 1000)
        connection.close()
    return median(took)


async def _command(store: str) -> float:
    command = (sys.executable, "-m", "holdfast.cli", "workers", "ls", "--json", "--store", store)
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    await process.communicate()
    if process.returncode:
        raise RuntimeError("holdfast workers failed")
    return (time.perf_counter() - started) * 1000
