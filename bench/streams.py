"""Streams: how fast frames are appended, and how soon live readers get them."""

from __future__ import annotations

import asyncio
import time
from statistics import median, quantiles

from bench.workloads import LEASE_MS, spread
from holdfast.engine import Engine
from holdfast.model.executions import Claim, NewExecution
from holdfast.model.frames import NewFrame

FRAMES = 100_000
BATCH = 100
PAYLOAD = b"x" * 50

TAILS_OF_MANY = 1_000
TAILS_OF_ONE = 100
#: Appends per second while latencies are measured.
PACE = 200
ROUNDS = 800


async def measure_streams(engine: Engine) -> dict[str, float]:
    """Measure appends and deliveries."""
    await engine.streams.set_tails(TAILS_OF_MANY)
    many = await _latencies(engine, await _claim(engine, TAILS_OF_MANY), tails=1)
    one = await _latencies(engine, await _claim(engine, 1), tails=TAILS_OF_ONE)
    single = await _rate(engine, batch=1, frames=FRAMES // 10)
    batched = await _rate(engine, batch=BATCH, frames=FRAMES)
    return {
        f"frames appended, batches of {BATCH} /s": batched,
        "frames appended one by one /s": single,
        f"append to delivery, {TAILS_OF_MANY} tails of as many, p50 ms": median(many),
        f"append to delivery, {TAILS_OF_MANY} tails of as many, p99 ms": quantiles(many, n=100)[98],
        f"append to delivery, {TAILS_OF_ONE} tails of one, p50 ms": median(one),
        f"append to delivery, {TAILS_OF_ONE} tails of one, p99 ms": quantiles(one, n=100)[98],
    }


async def _claim(engine: Engine, count: int) -> list[Claim]:
    for start in range(0, count, 1000):
        chunk = min(1000, count - start)
        await engine.submit_many([NewExecution(kind="bench") for _ in range(chunk)])
    claims: list[Claim] = []
    async with engine.claimer(worker="bench") as claimer:
        while len(claims) < count:
            claims += await claimer.claim(min(count - len(claims), 1000), LEASE_MS, 1_000)
    return claims


async def _rate(engine: Engine, *, batch: int, frames: int) -> float:
    claims = await _claim(engine, 10)
    body = [NewFrame(type="text", payload=PAYLOAD)] * batch
    turn = 0

    async def append() -> None:
        nonlocal turn
        turn += 1
        claim = claims[turn % len(claims)]
        await engine.streams.append(claim.id, claim.lease, body)

    started = time.perf_counter()
    await spread(frames // batch, append)
    return frames / (time.perf_counter() - started)


async def _latencies(engine: Engine, claims: list[Claim], *, tails: int) -> list[float]:
    """Return ms from the start of each append to its delivery, of all tails."""
    found: list[float] = []

    async def read(claim: Claim, ready: asyncio.Event) -> None:
        tail = await engine.streams.tail(claim.id)
        ready.set()
        while not tail.done:
            frames = await tail.next()
            now = time.perf_counter()
            found.extend((now - float(f.payload)) * 1000 for f in frames if f.type == "text")

    readers = []
    for claim in claims:
        for _ in range(tails):
            ready = asyncio.Event()
            readers.append(asyncio.create_task(read(claim, ready)))
            await ready.wait()
    for turn in range(ROUNDS):
        claim = claims[turn * 7 % len(claims)]
        frame = NewFrame(type="text", payload=str(time.perf_counter()).encode())
        await engine.streams.append(claim.id, claim.lease, [frame])
        await asyncio.sleep(1 / PACE)
    for claim in claims:
        await engine.complete(claim.id, claim.lease)
    await asyncio.gather(*readers)
    return found
