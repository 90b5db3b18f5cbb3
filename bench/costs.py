"""Measure whether the cost of a call grows with the backlog: server us at several depths."""

from __future__ import annotations

import re
from statistics import fmean

from holdfast.engine import Engine
from holdfast.model.executions import NewExecution
from holdfast.testing.polling import wait_for

#: The server's collector of garbage works in some ten rounds of twenty: fewer rounds are a draw.
ROUNDS = 40
#: A server that has just started has its memory in one piece; it gets slower within some rounds.
WARM_UP = 10
#: The share of rounds that is left out: another process had the processor.
SLOWEST = 0.1
BATCH = 100
#: A million executions are rewritten in a fraction of this.
_REWRITE_S = 120
DEPTHS = (1_000, 10_000, 100_000, 1_000_000)


async def _us(engine: Engine) -> float:
    text = (await engine.store.client.call(["INFO", "commandstats"])).decode()
    return sum(float(us) for us in re.findall(r"cmdstat_fcall\w*:calls=\d+,usec=(\d+)", text))


async def _fill(engine: Engine, count: int) -> None:
    items = [NewExecution(kind="bench") for _ in range(1_000)]
    for _ in range(count // 1_000):
        await engine.submit_many(items)
    await rest(engine)


async def rest(engine: Engine) -> None:
    """Wait until the server has rewritten its log: the fork beside it takes memory and time."""

    async def is_idle() -> bool:
        text = (await engine.store.client.call(["INFO", "persistence"])).decode()
        return re.search(r"(in_progress|scheduled):1", text) is None

    await wait_for(is_idle, timeout_s=_REWRITE_S)


async def flat_costs(engine: Engine, deepest: int) -> dict[str, float]:
    """Return us per execution of submit, claim and complete, and per call of reads."""
    figures: dict[str, float] = {}
    depth = 0
    for target in (d for d in DEPTHS if d <= deepest):
        await _fill(engine, target - depth)
        depth = target
        figures |= await _costs_at(engine, f"{target:>9,} waiting")
    return figures


async def _costs_at(engine: Engine, where: str) -> dict[str, float]:
    names = ("submit", "claim", "complete", "describe", "list 50", "count")
    samples: dict[str, list[float]] = {name: [] for name in names}
    items = [NewExecution(kind="bench") for _ in range(BATCH)]
    async with engine.claimer(worker="bench") as claimer:
        for number in range(WARM_UP + ROUNDS):
            marks = [await _us(engine)]
            await engine.submit_many(items)
            marks.append(await _us(engine))
            claims = await claimer.claim(BATCH, 60_000)
            marks.append(await _us(engine))
            for claim in claims:
                await engine.complete(claim.id, claim.lease)
            marks.append(await _us(engine))
            await engine.describe(claims[0].id)
            marks.append(await _us(engine))
            await engine.list(limit=50)
            marks.append(await _us(engine))
            await engine.count()
            marks.append(await _us(engine))
            sizes = (BATCH, BATCH, BATCH, 1, 1, 1)
            starts, ends = marks[:-1], marks[1:]
            spans = zip(starts, ends, sizes, strict=True)
            for name, (start, end, size) in zip(names, spans, strict=True):
                if number >= WARM_UP:
                    samples[name].append((end - start) / size)
    return {f"{where}: {name}": _typical(values) for name, values in samples.items()}


def _typical(values: list[float]) -> float:
    """Return the mean without the slowest."""
    return fmean(sorted(values)[: int(len(values) * (1 - SLOWEST))])
