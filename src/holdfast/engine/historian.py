"""The historian: samples lanes and queues every 5 s, for charts.

Nothing is counted where work happens: a sample reads the counts that the store has anyway. Of all
processes, one takes each sample. A sample that takes long makes the next ones rarer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

from holdfast.model import bounds, names
from holdfast.model.history import Span, Subject
from holdfast.model.listing import Count
from holdfast.model.queues import QueueStats
from holdfast.model.states import State
from holdfast.operate.depths import MOST_QUEUES, counted
from holdfast.queues import Queues
from holdfast.store.store import Store

EVERY_S: float = Span.HOUR.step_ms / 1000
#: A sample may take this part of the time between samples.
_SHARE = 0.02
_FAILED = (State.FAILED, State.EXPIRED)


class Historian:
    """Takes samples."""

    name = "historian"

    def __init__(self, store: Store, queues: Queues) -> None:
        self._store = store
        self._queues = queues

    async def run(self) -> None:
        """Take samples until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            if await self._store.histories.turn():
                await self.sample()
            await asyncio.sleep(max(EVERY_S, (loop.time() - started) / _SHARE))

    async def sample(self) -> int:
        """Take a sample; return how many lanes and queues it has."""
        cells = await self._store.queries.count(None)
        queues = await counted(self._queues, None)
        samples = lane_samples(cells)
        for queue, stats in queues[:MOST_QUEUES]:
            samples["|".join((Subject.QUEUE, *names.parse(queue.name)))] = _queue_sample(stats)
        return await self._store.histories.add(samples)


def lane_samples(cells: Iterable[Count]) -> dict[str, tuple[int, ...]]:
    """Return the figures of the lanes with the most executions."""
    lanes: dict[str, Counter[State]] = {}
    for cell in cells:
        series = f"{Subject.LANE}|{cell.tenant}|{cell.lane}"
        lanes.setdefault(series, Counter())[cell.state] += cell.count
    largest = sorted(lanes, key=lambda series: -lanes[series].total())
    return {series: _lane_sample(lanes[series]) for series in largest[: bounds.HISTORY_SERIES // 2]}


def _lane_sample(counts: Counter[State]) -> tuple[int, ...]:
    ended = sum(count for state, count in counts.items() if state.is_terminal)
    waiting, active = counts[State.WAITING], counts[State.ACTIVE]
    held = counts.total() - ended - waiting - active
    failed = sum(counts[state] for state in _FAILED)
    return waiting, active, held, counts.total(), counts[State.COMPLETED], failed


def _queue_sample(stats: QueueStats) -> tuple[int, ...]:
    groups = stats.groups.values()
    return (
        sum(group.ready for group in groups),
        sum(group.in_flight for group in groups),
        sum(group.dead for group in groups),
        stats.pushed,
        sum(group.acked for group in groups),
        stats.expired,
    )
