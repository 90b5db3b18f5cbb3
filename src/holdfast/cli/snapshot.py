"""What a store is doing at one moment, and how fast, between two moments."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast.model.executions import Execution
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.model.workers import Worker

if TYPE_CHECKING:
    from holdfast.api import Engine

#: The age of the oldest waiting execution is found to this precision, in few calls.
_PRECISION_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Counts, workers and the oldest waiting execution."""

    #: On this process's monotonic clock.
    taken_at: float
    counts: Mapping[State, int]
    lanes: Mapping[str, Mapping[State, int]]
    #: Lanes that are not open.
    settings: Mapping[str, str]
    workers: Sequence[Worker]
    oldest: Execution | None

    @property
    def total(self) -> int:
        """All executions."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """Executions that have ended and are still kept."""
        return sum(count for state, count in self.counts.items() if state.is_terminal)


def shown_states(counts: Sequence[Mapping[State, int]]) -> list[State]:
    """Return the states to show: those in which something is, and two that people look for."""
    always = {State.WAITING, State.ACTIVE}
    return [state for state in State if state in always or any(c.get(state) for c in counts)]


async def take(engine: Engine) -> Snapshot:
    """Look at a store."""
    cells, settings, workers, oldest = await asyncio.gather(
        engine.count(), engine.lanes.states(), engine.workers.list(), oldest_waiting(engine)
    )
    counts: Counter[State] = Counter()
    lanes: dict[str, Counter[State]] = {}
    for cell in cells:
        counts[cell.state] += cell.count
        lanes.setdefault(cell.lane, Counter())[cell.state] += cell.count
    return Snapshot(
        taken_at=time.monotonic(),
        counts=counts,
        lanes=lanes,
        settings=settings,
        workers=workers,
        oldest=oldest,
    )


async def oldest_waiting(engine: Engine) -> Execution | None:
    """Find the waiting execution that was created first.

    Lists are newest first, so it is searched by time: back in doubling steps until nothing is
    older, then forth and back in halving ones.
    """
    found = await _newest_before(engine, None, 0)
    step_ms = _PRECISION_MS
    back = True
    while found is not None and step_ms >= _PRECISION_MS:
        older = await _newest_before(engine, found, step_ms)
        back = back and older is not None
        step_ms = step_ms * 2 if back else step_ms // 2
        found = older or found
    return found


async def _newest_before(engine: Engine, item: Execution | None, step_ms: int) -> Execution | None:
    until = None if item is None else item.created_at - timedelta(milliseconds=step_ms)
    page = await engine.list(Filter(state=State.WAITING, until=until), limit=1)
    return page.items[0] if page.items else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Executions per second, from counts: what retention removes meanwhile is missing in them."""

    submitted: float
    ended: float


def rates(before: Snapshot, after: Snapshot) -> Rates:
    """Return how fast a store moved between two looks."""
    seconds = max(after.taken_at - before.taken_at, 0.001)
    return Rates(
        submitted=round(max(after.total - before.total, 0) / seconds, 1),
        ended=round(max(after.ended - before.ended, 0) / seconds, 1),
    )


def as_value(snapshot: Snapshot, moved: Rates) -> dict[str, object]:
    """Return a snapshot as JSON holds it."""
    return {
        "counts": snapshot.counts,
        "lanes": [
            {"lane": lane, "setting": snapshot.settings.get(lane, "open"), "counts": counts}
            for lane, counts in sorted(snapshot.lanes.items())
        ],
        "rates": moved,
        "workers": snapshot.workers,
        "oldest_waiting": snapshot.oldest,
    }
