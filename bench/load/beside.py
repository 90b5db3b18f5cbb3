"""Calls beside something large: us of the server in batches, ms of single calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator
from statistics import median, quantiles
from typing import Any

from bench.meter import Meter
from holdfast.engine import Engine
from holdfast.model.executions import Claim, NewExecution

KIND = "beside"
BATCH = 100
ROUNDS = 10
WARM_UP = 3
LEASE_MS = 600_000
AT_ONCE = 500
SINGLE_CALLS = 500


def batches(count: int) -> Iterator[range]:
    """Return the numbers up to a count in parts that are sent at once."""
    for first in range(0, count, AT_ONCE):
        yield range(first, min(first + AT_ONCE, count))


def compared(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Return figures of before and beside, side by side."""
    figures: dict[str, float] = {}
    for name, value in before.items():
        figures |= {f"{name}: before": value, f"{name}: beside them": after[name]}
    return figures


async def measure_beside(engine: Engine) -> dict[str, float]:
    """Return what calls cost the server, and how long callers wait for them."""
    return await _costs(engine) | await _latencies(engine)


async def _costs(engine: Engine) -> dict[str, float]:
    """Return us per execution of create, claim and complete."""
    meter = Meter(engine)
    items = [NewExecution(kind=KIND) for _ in range(BATCH)]
    figures = dict.fromkeys(("create", "claim", "complete"), 0.0)
    claims: list[Claim] = []
    async with engine.claimer(worker="bench", kinds=(KIND,)) as claimer:

        async def claim() -> None:
            claims[:] = await claimer.claim(BATCH, LEASE_MS)

        async def complete() -> None:
            await asyncio.gather(*(engine.complete(one.id, one.lease) for one in claims))

        works = (lambda: engine.submit_many(items), claim, complete)
        for number in range(WARM_UP + ROUNDS):
            for name, work in zip(figures, works, strict=True):
                us = await meter.cost(BATCH, work)
                figures[name] += us / ROUNDS if number >= WARM_UP else 0
    return {f"{name}, us": us for name, us in figures.items()}


async def _latencies(engine: Engine) -> dict[str, float]:
    """Return percentiles of ms until a single call is answered."""
    took: dict[str, list[float]] = {}

    async def timed(name: str, call: Awaitable[Any]) -> Any:
        started = time.perf_counter()
        answer = await call
        took.setdefault(name, []).append((time.perf_counter() - started) * 1000)
        return answer

    async with engine.claimer(worker="bench", kinds=(KIND,)) as claimer:
        for _ in range(SINGLE_CALLS):
            await timed("submit", engine.submit(KIND))
            (claim,) = await timed("claim", claimer.claim(1, LEASE_MS))
            await timed("complete", engine.complete(claim.id, claim.lease))
            await timed("describe", engine.describe(claim.id))
    figures = {}
    for name, values in took.items():
        figures[f"a {name}, p50 ms"] = median(values)
        figures[f"a {name}, p99 ms"] = quantiles(values, n=100)[98]
    return figures
