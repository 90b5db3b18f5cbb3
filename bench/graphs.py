"""Graphs of tasks: many small ones at once, a wide one, and races whose losers are cancelled."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from statistics import median, quantiles
from typing import Any

from holdfast import App, Join, WorkerSettings
from holdfast.model.executions import NewExecution
from holdfast.model.graphs import Edge
from holdfast.testing.polling import wait_for
from holdfast.worker.task import Task

CONCURRENT = 100
LENGTH = 10
LINEAR = 2_000
WIDTH = 1_000
WIDE_ROUNDS = 5
RACERS = 100
RACES = 100
SLOTS = 400


async def measure_graphs() -> dict[str, float]:
    """Measure one app with one worker in this process."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        app = App(f"embedded://{folder}")

        @app.task
        async def step(number: int) -> int:
            return number + 1

        @app.task
        async def total(numbers: list[int]) -> int:
            return sum(numbers)

        async with app.worker(WorkerSettings(slots=SLOTS)):
            linear = await _latencies(LINEAR, CONCURRENT, lambda: _run_linear(app, step))
            wide = await _latencies(WIDE_ROUNDS, 1, lambda: _run_wide(app, step, total))
        async with app:
            races = await _latencies(RACES, 1, lambda: _run_race(app))
    return {
        f"linear graphs of {LENGTH}, {CONCURRENT} at once, /s": LINEAR / linear.seconds,
        f"linear graphs of {LENGTH}, {CONCURRENT} at once, p50 ms": linear.ms(50),
        f"linear graphs of {LENGTH}, {CONCURRENT} at once, p99 ms": linear.ms(99),
        f"fan-out and fan-in of {WIDTH:,}, p50 ms": wide.ms(50),
        f"any of {RACERS}, winner to last loser cancelled, p50 ms": races.ms(50),
        f"any of {RACERS}, winner to last loser cancelled, p99 ms": races.ms(99),
    }


class _Latencies:
    """The time of each repetition, and of all together."""

    def __init__(self, each: list[float], seconds: float) -> None:
        self._each = each
        self.seconds = seconds

    def ms(self, percent: int) -> float:
        """Return a percentile in ms."""
        if percent == 50:
            return median(self._each) * 1000
        return quantiles(self._each, n=100)[percent - 1] * 1000


async def _latencies(count: int, at_once: int, work: Callable[[], Awaitable[float]]) -> _Latencies:
    """Repeat work `count` times, some of it concurrently."""
    left, each = count, []

    async def go_on() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            each.append(await work())

    start = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(go_on())
    return _Latencies(each, time.perf_counter() - start)


async def _run_linear(app: App, step: Task[..., int, Any]) -> float:
    """Submit a chain in which each member gets the result of the one before; wait for its end."""
    start = time.perf_counter()
    async with app.graph() as graph:
        node = graph.add(step, 0)
        for _ in range(LENGTH - 1):
            node = graph.add(step, node)
    if await graph.result() != {node.key: LENGTH}:
        message = "a chain returned a wrong result"
        raise AssertionError(message)
    return time.perf_counter() - start


async def _run_wide(app: App, step: Task[..., int, Any], total: Task[..., int, Any]) -> float:
    start = time.perf_counter()
    async with app.graph() as graph:
        first = graph.add(step, 0)
        graph.reduce(total, [graph.add(step, first) for _ in range(WIDTH)])
    if await graph.result() != {"total": 2 * WIDTH}:
        message = "a fan-in returned a wrong result"
        raise AssertionError(message)
    return time.perf_counter() - start


async def _run_race(app: App) -> float:
    """Let one of many upstreams win; return how long it takes to cancel the others."""
    engine = app.engine
    keys = [f"racer-{n}" for n in range(RACERS)]
    members = {key: NewExecution(kind="race") for key in (*keys, "goal")}
    edges = [Edge(source=key, target="goal") for key in keys]
    graph = await engine.graphs.submit(members, edges, {"goal": Join.any(losers="cancel")})
    async with engine.claimer(worker="bench") as claimer:
        (winner,) = await claimer.claim(1, 60_000)
        start = time.perf_counter()
        await engine.complete(winner.id, winner.lease)
        await wait_for(lambda: _all_but_goal_ended(app, graph.id))
        took = time.perf_counter() - start
        (goal,) = await claimer.claim(1, 60_000)
        await engine.complete(goal.id, goal.lease)
    return took


async def _all_but_goal_ended(app: App, graph_id: str) -> bool:
    view = await app.engine.graphs.describe(graph_id)
    return view.graph.open == 1


if __name__ == "__main__":
    for _name, _value in asyncio.run(measure_graphs()).items():
        print(f"{_name:<60}{_value:>12,.2f}")
