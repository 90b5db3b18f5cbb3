"""Message queues: rates in batches of 1 and 100, the latency of a waiting reader, flat costs."""

from __future__ import annotations

import asyncio
import re
import time
from statistics import median, quantiles

from bench.workloads import spread, timed
from holdfast.engine import Engine
from holdfast.model.deliveries import Settle
from holdfast.model.messages import NewMessage
from holdfast.testing.polling import wait_for

COUNT = 20_000
SINGLES = 5_000
WAKE_ROUNDS = 300
ROUNDS = 10
BATCH = 100
DEPTHS = (1_000, 10_000, 100_000, 1_000_000)
GROUPS = (1, 10, 100, 1_000)
#: Calls with single messages in flight at once.
WIDTH = 64

Figures = dict[str, float]


async def measure_queues(engine: Engine) -> Figures:
    """Measure rates and latency on a WORK queue with messages of 100 bytes."""
    await engine.queues.define("bench", lock_ms=60_000)
    figures: Figures = {}
    items = [NewMessage(payload=b"x" * 100) for _ in range(BATCH)]

    async def push_batches() -> None:
        await spread(COUNT // BATCH, lambda: engine.queues.push_many("bench", items))

    figures["push, batches of 100 /s"] = (await timed(COUNT, push_batches)).per_second
    figures["read+ack, batches of 100 /s"] = (
        await timed(COUNT, lambda: _drain(engine, BATCH, 4))
    ).per_second

    async def push_singles() -> None:
        async def some() -> None:
            for _ in range(SINGLES // WIDTH):
                await engine.queues.push("bench", b"x" * 100)

        await asyncio.gather(*(some() for _ in range(WIDTH)))

    done = SINGLES // WIDTH * WIDTH
    figures["push, one by one /s"] = (await timed(done, push_singles)).per_second
    figures["read+ack, one by one /s"] = (
        await timed(done, lambda: _drain(engine, 1, WIDTH))
    ).per_second
    return figures | await _latency(engine)


async def _drain(engine: Engine, count: int, width: int) -> None:
    """Read and ack until nothing is left."""

    async def consume(number: int) -> None:
        while True:
            found = await engine.queues.read("bench", consumer=f"c{number}", count=count)
            if not found:
                return
            items = [Settle(handle=delivery.handle) for delivery in found]
            await engine.queues.settle("bench", "ack", items)

    await asyncio.gather(*(consume(n) for n in range(width)))


async def _latency(engine: Engine) -> Figures:
    """Return how long a message takes from the push to a waiting reader."""
    spans = []
    for _ in range(WAKE_ROUNDS):
        reading = asyncio.ensure_future(engine.queues.read("bench", consumer="w", wait_ms=10_000))
        await asyncio.sleep(0.003)
        started = time.perf_counter()
        await engine.queues.push("bench", b"1")
        (delivery,) = await reading
        spans.append((time.perf_counter() - started) * 1000)
        await engine.queues.ack("bench", delivery.handle)
    return {
        "push to a waiting reader, p50 ms": median(spans),
        "push to a waiting reader, p99 ms": quantiles(spans, n=100)[98],
    }


async def queue_costs(engine: Engine, deepest: int) -> Figures:
    """Return server us per message of push, read and ack by messages stored and by groups."""
    figures: Figures = {}
    await engine.queues.define("deep", lock_ms=3_600_000)
    depth = 0
    items = [NewMessage(payload=b"1") for _ in range(1_000)]
    for target in (d for d in DEPTHS if d <= deepest):
        for _ in range((target - depth) // 1_000):
            await engine.queues.push_many("deep", items)
        depth = target
        figures |= await _costs(engine, "deep", None, f"{target:>9,} stored")
    await engine.queues.purge("deep")
    await _freed(engine)
    await engine.queues.define("fan", mode="fanout", lock_ms=3_600_000)
    made = 0
    for target in GROUPS:
        for number in range(made, target):
            await engine.queues.add_group("fan", f"g{number}")
        made = target
        figures |= await _costs(engine, "fan", "g0", f"{target:>9,} groups")
    return figures


async def _costs(engine: Engine, queue: str, group: str | None, where: str) -> Figures:
    figures = dict.fromkeys(("push", "read", "ack"), 0.0)
    items = [NewMessage(payload=b"1") for _ in range(BATCH)]
    for _ in range(ROUNDS):
        marks = [await _us(engine)]
        await engine.queues.push_many(queue, items)
        marks.append(await _us(engine))
        found = await engine.queues.read(queue, group=group, consumer="c", count=BATCH)
        marks.append(await _us(engine))
        settles = [Settle(handle=delivery.handle) for delivery in found]
        await engine.queues.settle(queue, "ack", settles)
        marks.append(await _us(engine))
        for name, start, end in zip(figures, marks, marks[1:], strict=False):
            figures[name] += (end - start) / BATCH / ROUNDS
    return {f"{where}: {name}": us for name, us in figures.items()}


async def _freed(engine: Engine) -> None:
    """Wait until the server has freed the purged messages, which it does in the background."""

    async def freed() -> bool:
        info: bytes = await engine.store.client.call(["INFO", "memory"])
        return b"lazyfree_pending_objects:0" in info

    await wait_for(freed, timeout_s=120)


async def _us(engine: Engine) -> float:
    text = (await engine.store.client.call(["INFO", "commandstats"])).decode()
    return sum(float(us) for us in re.findall(r"cmdstat_fcall\w*:calls=\d+,usec=(\d+)", text))
