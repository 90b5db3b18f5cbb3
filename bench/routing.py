"""Routing: decisions per second, pure and with pins in the store, and the time that a pin adds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from statistics import median, quantiles

from bench import workloads
from holdfast.engine import Engine, open_engine
from holdfast.model.pins import Finding, Pin
from holdfast.model.tokens import KeyRing, SigningKey
from holdfast.routing import Cookies, Router, RoutingTable, Snapshot, StorePins, decide

DECISIONS = 200_000
MESSAGES = 20_000
#: Messages in flight at once, for rates and for latencies.
WIDTH, QUIET_WIDTH = 200, 4
LATENCIES = 5_000
NOW_MS = 1_800_000_000_000

TABLE = RoutingTable("bench", "shop", "acme", 0, ()).followed_by(
    {"old": 9_000, "new": 1_000}, {"old": "ready", "new": "ready", "older": "draining"}
)


def _per_second(count: int, decision: Callable[[str], object]) -> float:
    """Return how many decisions a process makes in a second."""
    sessions = [f"session-{number}" for number in range(count)]
    started = time.perf_counter()
    for session in sessions:
        decision(session)
    return count / (time.perf_counter() - started)


def measure_decisions() -> dict[str, float]:
    """Measure the dispatcher alone."""
    ring = KeyRing("k", None, {"k": SigningKey("k", b"s" * 32)})
    cookies = Cookies()
    text = cookies.issue(TABLE, "new", ring, NOW_MS)

    def by_cookie(session: str) -> None:
        decide(Snapshot(TABLE, session, cookie=cookies.read(text, TABLE, ring, NOW_MS)))

    pin = Pin("new", 1)
    return {
        "decisions by wait /s": _per_second(
            DECISIONS, lambda session: decide(Snapshot(TABLE, session, wait="older"))
        ),
        "decisions by pin /s": _per_second(
            DECISIONS, lambda session: decide(Snapshot(TABLE, session, pin=pin))
        ),
        "decisions by weights /s": _per_second(
            DECISIONS, lambda session: decide(Snapshot(TABLE, session))
        ),
        "decisions by cookie, verified /s": _per_second(DECISIONS // 10, by_cookie),
    }


async def _all(width: int, count: int, call: Callable[[int], Awaitable[object]]) -> None:
    numbers = iter(range(count))

    async def go_on() -> None:
        for number in numbers:
            await call(number)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(width):
            tasks.create_task(go_on())


async def measure_pins(engine: Engine) -> dict[str, float]:
    """Measure decisions with pins in the store."""
    # Under full load a call waits for those before it; the deadline is for messages that arrive.
    router = Router(StorePins(engine.store, deadline_s=5))
    await router.route(TABLE, "warm")

    def route(number: int) -> Awaitable[object]:
        return router.route(TABLE, f"session-{number % (MESSAGES // 2)}")

    def get(_: int) -> Awaitable[object]:
        return engine.store.client.call(["GET", "nothing"])

    figures: dict[str, float] = {}

    async def rate(name: str, count: int) -> None:
        done = await workloads.timed(count, lambda: _all(WIDTH, count, route))
        figures[f"{name} sessions, pins in the store /s"] = done.per_second

    await rate("new", MESSAGES // 2)
    await rate("pinned", MESSAGES)
    figures["pins that the store did not answer"] = router.pins.counts[Finding.SKIPPED]

    for name, call in (("a pin adds", route), ("a raw GET takes", get)):
        waits = await _latencies(call)
        figures[f"{name}, {QUIET_WIDTH} at once, p50 ms"] = median(waits)
        figures[f"{name}, {QUIET_WIDTH} at once, p99 ms"] = quantiles(waits, n=100)[98]
    return figures


async def _latencies(call: Callable[[int], Awaitable[object]]) -> list[float]:
    """Return how long calls take, in ms."""
    waits: list[float] = []

    async def wait(number: int) -> None:
        started = time.perf_counter()
        await call(number)
        waits.append((time.perf_counter() - started) * 1_000)

    await _all(QUIET_WIDTH, LATENCIES, wait)
    return waits


async def measure_routing(engine: Engine) -> dict[str, float]:
    """Measure everything about routing."""
    return {**measure_decisions(), **await measure_pins(engine)}


async def _alone() -> None:
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        async with open_engine(f"embedded://{folder}") as engine:
            for name, value in (await measure_routing(engine)).items():
                print(f"{name:<44}{value:>12,.2f}")


if __name__ == "__main__":
    import uvloop

    uvloop.run(_alone())
