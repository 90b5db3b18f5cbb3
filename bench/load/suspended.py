"""Many suspended executions: their memory, other calls beside them, and idle processes."""

from __future__ import annotations

import asyncio
import time

from bench.costs import rest
from bench.load.beside import AT_ONCE, LEASE_MS, batches, compared, measure_beside
from bench.meter import Meter
from holdfast.engine import Engine, open_engine
from holdfast.model.executions import Claim, NewExecution
from holdfast.model.waitpoints import NewSignal, NewWaitpoint

KIND = "asks"
SIGNALS = 500
IDLE_S = 10.0
TIMEOUT_MS = 86_400_000


async def measure_suspended(engine: Engine, store: str, count: int) -> dict[str, float]:
    """Suspend executions on an empty store and measure beside them."""
    meter = Meter(engine)
    before = await measure_beside(engine)
    used, started = await meter.used(), time.perf_counter()
    ids = await _suspend(engine, count)
    figures = {"seconds to suspend them": time.perf_counter() - started}
    figures["bytes per suspended"] = (await meter.used() - used) / count
    await rest(engine)
    figures |= compared(before, await measure_beside(engine))
    some = ids[:: max(1, count // SIGNALS)][:SIGNALS]
    figures["signal, us"] = await meter.cost(len(some), lambda: _signal(engine, some))

    async def resume() -> None:
        async with engine.claimer(worker="bench", kinds=(KIND,)) as claimer:
            claims: list[Claim] = []
            while len(claims) < len(some):
                claims += await claimer.claim(AT_ONCE, LEASE_MS)
            await asyncio.gather(*(engine.complete(one.id, one.lease) for one in claims))

    figures["claim and complete what was signalled, us"] = await meter.cost(len(some), resume)
    figures["list 50, us"] = await meter.cost(1, lambda: engine.list(limit=50))
    figures["count, us"] = await meter.cost(1, engine.count)
    return figures | await idle(meter, store)


async def idle(meter: Meter, store: str) -> dict[str, float]:
    """Return what a process with maintenance costs while nothing happens."""
    async with open_engine(store):
        calls, cpu, own = await meter.calls(), await meter.cpu(), time.process_time()
        us = await meter.cost(1, lambda: asyncio.sleep(IDLE_S))
        return {
            "idle: function calls a second": (await meter.calls() - calls) / IDLE_S,
            "idle: us in functions a second": us / IDLE_S,
            "idle: processor of the store, %": (await meter.cpu() - cpu) / IDLE_S * 100,
            "idle: processor of the process, %": (time.process_time() - own) / IDLE_S * 100,
        }


async def _suspend(engine: Engine, count: int) -> list[str]:
    """Create, claim and suspend executions; returns their ids."""
    ids: list[str] = []
    async with engine.claimer(worker="bench", kinds=(KIND,)) as claimer:
        for some in batches(count):
            left = len(some)
            await engine.submit_many([NewExecution(kind=KIND)] * left)
            while left:
                claims = await claimer.claim(left, LEASE_MS)
                await asyncio.gather(*(_wait(engine, claim) for claim in claims))
                ids += (claim.id for claim in claims)
                left -= len(claims)
    return ids


async def _wait(engine: Engine, claim: Claim) -> None:
    point = NewWaitpoint(name="answer")
    condition = {"waitpoint": "answer"}
    await engine.waitpoints.suspend(
        claim.id, claim.lease, [point], condition, timeout_ms=TIMEOUT_MS, key="answer"
    )


async def _signal(engine: Engine, ids: list[str]) -> None:
    items = [NewSignal(waitpoint=f"{one}~w1", name="answer") for one in ids]
    await asyncio.gather(*(engine.waitpoints.signal(item) for item in items))
