"""The timeline of an execution: its attempts and steps on one time scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.model.executions import Attempt, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An attempt; a running one lasts until now."""

    attempt: Attempt
    start: datetime
    end: datetime

    @property
    def outcome(self) -> str:
        """How it ended, with its error."""
        if self.attempt.outcome is None:
            return "running"
        error = self.attempt.error or {}
        if not error:
            return self.attempt.outcome
        return f"{self.attempt.outcome}: {error.get('type', '')}: {error.get('message', '')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A recorded step."""

    step: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """From the creation of an execution to the end of its last attempt, or to now."""

    start: datetime
    end: datetime
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...] = ()

    def share(self, moment: datetime) -> float:
        """Return the position of a time: 0 at the start, 1 at the end."""
        whole = (self.end - self.start).total_seconds()
        passed = (moment - self.start).total_seconds()
        return min(max(passed / whole, 0.0), 1.0) if whole > 0 else 0.0


def of(
    attempts: Sequence[Attempt], created_at: datetime, now: datetime, steps: Sequence[Step] = ()
) -> Timeline:
    """Return the timeline of an execution."""
    bars = tuple(
        Bar(attempt=attempt, start=attempt.started_at, end=attempt.ended_at or now)
        for attempt in attempts
    )
    return Timeline(
        start=created_at,
        end=max((bar.end for bar in bars), default=now),
        bars=bars,
        marks=tuple(Mark(step=step.name, at=step.at) for step in steps),
    )
