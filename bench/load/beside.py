"""The life of executions beside something large: microseconds of the server for each call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from bench.meter import Meter
from holdfast.engine import Engine
from holdfast.model.executions import Claim, NewExecution

KIND = "beside"
BATCH = 100
ROUNDS = 10
WARM_UP = 3
LEASE_MS = 600_000
AT_ONCE = 500


def batches(count: int) -> Iterator[range]:
    """Return the numbers up to a count in parts that are sent at once."""
    for first in range(0, count, AT_ONCE):
        yield range(first, min(first + AT_ONCE, count))


async def costs_beside(engine: Engine) -> dict[str, float]:
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
    return {f"{name} beside them, us": us for name, us in figures.items()}
