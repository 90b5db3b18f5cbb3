"""Many sessions: their memory, turns beside them, pages of them."""

from __future__ import annotations

import asyncio
import time
from statistics import median, quantiles

import msgspec

from bench.conversations import NAME, message
from bench.costs import rest
from bench.load.beside import LEASE_MS, batches, compared, measure_beside
from bench.load.suspended import idle
from bench.meter import Meter
from holdfast import App, Chat, WorkerSettings
from holdfast.engine import Engine
from holdfast.model.executions import Claim
from holdfast.model.sessions import MessageWait, NewReply

TURNS = 300
PAGES = 20


async def measure_sessions(engine: Engine, store: str, count: int) -> dict[str, float]:
    """Open sessions on an empty store and measure beside them."""
    meter = Meter(engine)
    async with _conversing(store) as talking:
        before = await _turns(talking, "first", min(TURNS, count))
    beside = await measure_beside(engine)
    used, started = await meter.used(), time.perf_counter()
    await _open(engine, count)
    figures = {"seconds to open them": time.perf_counter() - started}
    figures["bytes per session of 2 lines"] = (await meter.used() - used) / count
    await rest(engine)
    async with _conversing(store) as talking:
        after = await _turns(talking, "second", min(TURNS, count))
    for name, took in (("before", before), ("beside them", after)):
        figures[f"a turn, p50 ms: {name}"] = median(took)
        figures[f"a turn, p99 ms: {name}"] = quantiles(took, n=100)[98]
    figures |= compared(beside, await measure_beside(engine))
    figures["first page of 50, p50 ms"] = await _pages(engine, follow=False)
    figures["further pages of 50, p50 ms"] = await _pages(engine, follow=True)
    figures["longest call of the store in a list, ms"] = await meter.longest(
        lambda: _pages(engine, follow=True)
    )
    return figures | await idle(meter, store)


class _conversing:  # noqa: N801 - used like a function
    """A worker in this process that repeats what users say."""

    def __init__(self, store: str) -> None:
        app = self._app = App(store)

        @app.conversation(name=NAME)
        async def echo(chat: Chat) -> None:
            while True:
                received = await chat.receive()
                await chat.say(received.text)

        self._worker = app.worker(WorkerSettings(slots=100))

    async def __aenter__(self) -> Engine:
        await self._worker.__aenter__()
        if not isinstance(self._app.engine, Engine):
            raise TypeError(self._app.engine)
        return self._app.engine

    async def __aexit__(self, *error: object) -> None:
        await self._worker.__aexit__(*error)  # type: ignore[arg-type]


async def _turns(engine: Engine, user: str, count: int) -> list[float]:
    took = []
    for number in range(count):
        started = time.perf_counter()
        await engine.sessions.send(NAME, message(user, f"message {number}"))
        took.append((time.perf_counter() - started) * 1000)
    return took


async def _open(engine: Engine, count: int) -> None:
    """Open sessions with one message and one reply each, which then wait for the next message."""
    async with engine.claimer(worker="bench", kinds=(NAME,)) as claimer:
        for some in batches(count):
            deliveries = (
                engine.sessions.deliver(NAME, message(f"user{number}", "hello")) for number in some
            )
            await asyncio.gather(*deliveries)
            left = len(some)
            while left:
                claims = await claimer.claim(left, LEASE_MS)
                await asyncio.gather(*(_reply(engine, claim) for claim in claims))
                left -= len(claims)


async def _reply(engine: Engine, claim: Claim) -> None:
    reply = NewReply(step="say:0", payload=msgspec.json.encode({"text": "hello"}))
    wait = MessageWait(step="receive:0", kept=True)
    await engine.sessions.turn(claim.id, claim.lease, [reply], wait)


async def _pages(engine: Engine, *, follow: bool) -> float:
    took = []
    cursor = None
    for _ in range(PAGES):
        started = time.perf_counter()
        page = await engine.sessions.list(limit=50, cursor=cursor)
        took.append((time.perf_counter() - started) * 1000)
        cursor = page.next_cursor if follow else None
    return median(took)
