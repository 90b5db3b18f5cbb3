"""The SDK compared with the engine: tasks end to end, recorded steps, memory of sleepers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import workloads
from holdfast import App, Context, WorkerSettings
from holdfast.api import Engine
from holdfast.model.executions import Claim, NewExecution
from holdfast.testing.polling import wait_for

COUNT = 20_000
#: Steps of each of the executions that run at once; calls that record steps have up to 64.
STEPS = 50
STEPPING = 400
SLEEPERS = 1_000
SLOTS = 400


async def measure_sdk() -> dict[str, float]:
    """Measure one app with one worker in this process."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        app = App(f"embedded://{folder}")

        @app.task
        async def nothing(number: int) -> int:
            return number

        @app.task
        async def stepping(ctx: Context, steps: int) -> int:
            for number in range(steps):
                await ctx.step(f"step {number}", int)
            return steps

        async with app:
            payload = b'"' + b"x" * 98 + b'"'
            engine = await workloads.timed(
                COUNT, lambda: workloads.end_to_end(app.engine, COUNT, payload)
            )

            async def tasks() -> None:
                await nothing.submit_many([{"number": n} for n in range(COUNT)])
                await completed(app.engine, "nothing", COUNT)

            async def steps() -> None:
                await stepping.submit_many([{"steps": STEPS}] * STEPPING)
                await completed(app.engine, "stepping", STEPPING)

            async with app.worker(WorkerSettings(slots=SLOTS)):
                sdk = await workloads.timed(COUNT, tasks)
                stepped = await workloads.timed(STEPPING * STEPS, steps)
            recorded = await _recorded(app.engine)
    return {
        "engine end to end /s": engine.per_second,
        "tasks end to end /s": sdk.per_second,
        "tasks / engine": sdk.per_second / engine.per_second,
        "journaled steps /s": stepped.per_second,
        "journaled steps, without the SDK /s": recorded.per_second,
        f"MiB of a worker with {SLEEPERS:,} sleeping": await _sleeping_memory(),
    }


async def _recorded(engine: Engine) -> workloads.Rate:
    """Record steps of executions that this process holds; each waits for its last one."""
    await engine.submit_many([NewExecution(kind="recorded") for _ in range(STEPPING)])
    held: list[Claim] = []
    async with engine.claimer(worker="bench", kinds=["recorded"]) as claimer:
        while len(held) < STEPPING:
            held += await claimer.claim(workloads.CLAIM_BATCH, workloads.LEASE_MS, wait_ms=100)

    async def record(claim: Claim) -> None:
        for number in range(STEPS):
            await engine.checkpoint(claim.id, claim.lease, f"step {number}", b"0")

    async def record_all() -> None:
        async with asyncio.TaskGroup() as tasks:
            for claim in held:
                tasks.create_task(record(claim))

    return await workloads.timed(STEPPING * STEPS, record_all)


async def completed(engine: Engine, kind: str, count: int) -> None:
    """Wait until this many have completed, with few enough looks not to disturb the run."""
    done = 0
    while done < count:
        await asyncio.sleep(0.05)
        counts = await engine.count()
        done = sum(c.count for c in counts if (c.kind, c.state) == (kind, "completed"))


async def _sleeping_memory() -> float:
    """Return the memory of a worker process whose executions all sleep for a minute."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        async with App(f"embedded://{folder}") as app:
            worker = subprocess.Popen([sys.executable, "-m", "bench.sdk", folder])
            try:

                async def asleep() -> bool:
                    counts = await app.engine.count()
                    return sum(c.count for c in counts if c.state == "delayed") >= SLEEPERS

                await wait_for(asleep, timeout_s=60)
                status = Path(f"/proc/{worker.pid}/status")
                if not status.exists():
                    return 0.0
                lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
                return int(lines["VmRSS"].split()[0]) / 1024
            finally:
                worker.terminate()
                worker.wait()


async def _sleep_for_long(folder: str) -> None:
    app = App(f"embedded://{folder}")

    @app.task
    async def sleeper(ctx: Context) -> None:
        await ctx.sleep(60)

    async with app.worker(WorkerSettings(slots=SLEEPERS)):
        await sleeper.submit_many([{}] * SLEEPERS)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_sleep_for_long(sys.argv[1]))
