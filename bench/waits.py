"""Waits: from the suspension and the signal to the handler that continues, and idle waits."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from statistics import median, quantiles

from holdfast import App, Context, WorkerSettings
from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.model.states import State
from holdfast.model.waitpoints import NewSignal
from holdfast.testing.polling import wait_for

ROUNDS = 500
WAITING = 10_000


async def measure_waits() -> dict[str, float]:
    """Measure one app with one worker in this process."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        app = App(f"embedded://{folder}")
        went_on: asyncio.Queue[float] = asyncio.Queue()

        @app.task
        async def asks(ctx: Context) -> None:
            point = await ctx.waitpoint("answer")
            await ctx.wait_for(point)
            went_on.put_nowait(time.perf_counter())

        @app.task
        async def rests(ctx: Context) -> None:
            await ctx.wait_for("answer", timeout=86_400)

        async with app.worker(WorkerSettings(slots=400)):
            latencies = []
            for _ in range(ROUNDS):
                handle = await asks.submit()
                point = await _suspended(app.engine, handle.id)
                token = await app.engine.waitpoints.token(point, reader="bench")
                signal = NewSignal(waitpoint=point, name="answer")
                start = time.perf_counter()
                await app.engine.waitpoints.signal(signal, token.reveal())
                latencies.append((await went_on.get() - start) * 1000)
            start = time.perf_counter()
            await rests.submit_many([{}] * WAITING)
            await _waiting(app.engine, WAITING)
            seconds = time.perf_counter() - start
        idle = await _idle_calls(folder)
    return {
        "signal to handler, idle, p50 ms": median(latencies),
        "signal to handler, idle, p99 ms": quantiles(latencies, n=100)[98],
        "suspended through the SDK /s": WAITING / seconds,
        f"function calls in 5 s with {WAITING:,} suspended": idle,
    }


async def _suspended(engine: Engine, execution_id: str) -> str:
    async def look() -> bool:
        return (await engine.describe(execution_id)).state is State.SUSPENDED

    await wait_for(look)
    return f"{execution_id}~w1"


async def _waiting(engine: Engine, count: int) -> None:
    async def look() -> bool:
        counts = await engine.count()
        return sum(c.count for c in counts if c.state is State.SUSPENDED) >= count

    await wait_for(look, timeout_s=120)


async def _idle_calls(folder: str) -> float:
    """Return how many function calls a process with maintenance makes while nothing is due."""
    async with App(f"embedded://{folder}") as app:
        before = await _calls(app.engine)
        await asyncio.sleep(5)
        return await _calls(app.engine) - before


async def _calls(engine: Engine) -> float:
    if not isinstance(engine, NearEngine):
        raise TypeError(engine)
    text = (await engine.store.client.call(["INFO", "commandstats"])).decode()
    return sum(float(calls) for calls in re.findall(r"cmdstat_fcall\w*:calls=(\d+)", text))
