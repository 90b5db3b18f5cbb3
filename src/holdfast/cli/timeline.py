"""The life of an execution as bars: one line for each attempt, on a common scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.cli.terminal import times
from holdfast.model.executions import Attempt

WIDTH = 32
_RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps moments to columns."""

    start: datetime
    end: datetime

    def bar(self, start: datetime, end: datetime) -> str:
        """Return a bar from one moment to another; it is never invisible."""
        whole = max(self.end - self.start, timedelta(milliseconds=1))
        first = int((start - self.start) / whole * WIDTH)
        first = min(max(first, 0), WIDTH - 1)
        last = min(max(round((end - self.start) / whole * WIDTH), first + 1), WIDTH)
        return "·" * first + "█" * (last - first) + "·" * (WIDTH - last)


def rows(
    attempts: Sequence[Attempt], created_at: datetime, now: datetime
) -> list[tuple[object, ...]]:
    """Return number, kind, worker, start, length, outcome and bar of each attempt."""
    ends = [attempt.ended_at or now for attempt in attempts]
    scale = Scale(created_at, max(ends, default=now))
    return [
        (
            f"#{attempt.index + 1}",
            attempt.kind,
            attempt.worker,
            f"+{times.between(created_at, attempt.started_at)}",
            times.between(attempt.started_at, end),
            outcome_of(attempt),
            scale.bar(attempt.started_at, end),
        )
        for attempt, end in zip(attempts, ends, strict=True)
    ]


def outcome_of(attempt: Attempt) -> str:
    """Return how an attempt ended, with its error."""
    if attempt.outcome is None:
        return _RUNNING
    error = attempt.error or {}
    if not error:
        return attempt.outcome
    return f"{attempt.outcome}: {error.get('type', '')}: {error.get('message', '')}"
