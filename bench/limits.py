"""Budgets and quotas: charges per second, and what limits cost a claim."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bench import workloads
from holdfast.engine import Engine
from holdfast.model.executions import Claim, NewExecution

COUNT = 6_000
#: The best of this many rounds counts, so that a disturbance does not distort one variant: a sample
#: takes about 0.1 s.
ROUNDS = 5
CHARGES = 20_000
#: Calls in flight at once.
WIDTH = 200


async def _charge(count: int, call: Callable[[int], Awaitable[object]]) -> float:
    """Return how many calls are answered per second."""
    numbers = iter(range(count))

    async def go_on() -> None:
        for number in numbers:
            await call(number)

    async def work() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WIDTH):
                tasks.create_task(go_on())

    return (await workloads.timed(count, work)).per_second


async def _lives(engine: Engine, **fields: object) -> dict[str, float]:
    """Submit executions and return how fast they are claimed, and claimed and completed."""
    items = [
        NewExecution(kind="bench", **fields)  # type: ignore[arg-type]
        for _ in range(workloads.SUBMIT_BATCH)
    ]

    async def submit() -> None:
        await workloads.spread(COUNT // len(items), lambda: engine.submit_many(items))

    held: list[Claim] = []

    async def claim() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(workloads.WIDTH):
                tasks.create_task(_claim(engine, f"bench-{number}", held))

    await submit()
    claims = (await workloads.timed(COUNT, claim)).per_second
    for start in range(0, COUNT, workloads.CLAIM_BATCH):
        chunk = held[start : start + workloads.CLAIM_BATCH]
        await asyncio.gather(*(engine.complete(claim.id, claim.lease) for claim in chunk))
    await engine.courier.settle()
    await submit()
    both = (await workloads.timed(COUNT, lambda: workloads.drain(engine, COUNT))).per_second
    await engine.courier.settle()
    return {"claims": claims, "claim+complete": both}


async def _claim(engine: Engine, worker: str, held: list[Claim]) -> None:
    async with engine.claimer(worker=worker) as claimer:
        while len(held) < COUNT:
            batch = await claimer.claim(workloads.CLAIM_BATCH, workloads.LEASE_MS, wait_ms=10)
            held += batch


async def measure_limits(engine: Engine) -> dict[str, float]:
    """Measure charges, and lives with and without limits, in one run."""
    budgets = engine.budgets
    await budgets.create("bench", limits={"tokens": {"hard": 10**12}})
    await budgets.create("bench-child", parent="bench", limits={"tokens": {"hard": 10**12}})
    await engine.quotas.create("slots", max_concurrent=10**6)
    await engine.quotas.create("rate", window_ms=60_000, max_per_window=10**6)
    usage = {"tokens": 5}
    figures = {
        "report /s": await _charge(CHARGES, lambda _: budgets.report("bench", usage)),
        "report with a key and a parent /s": await _charge(
            CHARGES, lambda n: budgets.report("bench-child", usage, key=f"k{n}")
        ),
    }

    async def reserve_and_settle(number: int) -> None:
        await budgets.reserve("bench", usage, key=f"r{number}")
        await budgets.settle("bench", usage, key=f"r{number}")

    figures["reserve+settle /s"] = await _charge(CHARGES // 2, reserve_and_settle)
    kinds: dict[str, dict[str, object]] = {
        "plain": {},
        "with a quota of slots": {"quotas": ("slots",)},
        "with a quota of a window": {"quotas": ("rate",)},
        "with a budget": {"budgets": ("bench",)},
    }
    best: dict[str, dict[str, float]] = {name: {} for name in kinds}
    for _ in range(ROUNDS):
        for name, fields in kinds.items():
            for what, rate in (await _lives(engine, **fields)).items():
                best[name][what] = max(rate, best[name].get(what, 0.0))
    for name, rates in best.items():
        for what, rate in rates.items():
            figures[f"{what} {name} /s"] = rate
            if name != "plain":
                figures[f"{what} {name} / plain"] = rate / best["plain"][what]
    return figures
