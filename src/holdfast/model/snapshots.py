"""The activity of a store at one moment, and its rates between two moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.model.executions import Execution
from holdfast.model.services import ServiceProcess
from holdfast.model.states import State
from holdfast.model.workers import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepth:
    """The messages of a queue that have not been settled, in all its groups."""

    queue: str
    mode: str
    paused: bool
    ready: int
    delayed: int
    in_flight: int
    dead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Counts, workers, services and the oldest waiting execution."""

    #: When it was read, on this process's monotonic clock.
    taken_at: float
    counts: Mapping[State, int]
    lanes: Mapping[str, Mapping[State, int]]
    #: Lanes that are not open.
    settings: Mapping[str, str]
    workers: Sequence[Worker]
    oldest: Execution | None
    queues: Sequence[QueueDepth] = ()
    services: Sequence[ServiceProcess] = ()
    #: Whether there are more workers or queues than a snapshot holds.
    more_workers: bool = False
    more_queues: bool = False

    @property
    def total(self) -> int:
        """All executions."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """Executions that have ended and are still kept."""
        return sum(count for state, count in self.counts.items() if state.is_terminal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Executions per second, from counts; without those that retention removed in between."""

    submitted: float
    ended: float


def rates(before: Snapshot, after: Snapshot) -> Rates:
    """Return the rates between two snapshots."""
    seconds = max(after.taken_at - before.taken_at, 0.001)
    return Rates(
        submitted=round(max(after.total - before.total, 0) / seconds, 1),
        ended=round(max(after.ended - before.ended, 0) / seconds, 1),
    )


def shown_states(counts: Sequence[Mapping[State, int]]) -> list[State]:
    """Return the states to show: those that occur, and two that people expect."""
    always = {State.WAITING, State.ACTIVE}
    return [state for state in State if state in always or any(c.get(state) for c in counts)]
