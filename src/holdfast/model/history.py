"""Short history for charts: what lanes and queues did in the last hour and the last week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from holdfast.model import bounds, checks
from holdfast.model.moments import from_ms


class Span(StrEnum):
    """How far a history reaches back."""

    HOUR = "hour"
    WEEK = "week"

    @property
    def step_ms(self) -> int:
        """How long a row of it is."""
        return 5_000 if self is Span.HOUR else 300_000

    @property
    def steps(self) -> int:
        """How many rows it has."""
        return 720 if self is Span.HOUR else 2_016


class Subject(StrEnum):
    """What has a history."""

    LANE = "lane"
    QUEUE = "queue"


#: The figures of a row. The first are levels, of which a row has the highest; the others count.
LEVELS = 3
FIGURES: Mapping[Subject, tuple[str, ...]] = {
    Subject.LANE: ("waiting", "active", "held", "submitted", "completed", "failed"),
    Subject.QUEUE: ("ready", "in_flight", "dead", "pushed", "acked", "expired"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """Which history to read."""

    subject: Subject
    span: Span
    tenant: str | None
    name: str | None
    points: int

    @classmethod
    def checked(cls, subject: str, span: str, **rest: Any) -> HistoryQuery:
        """Check a query."""
        if rest["tenant"] is not None:
            checks.name("tenant", rest["tenant"])
        if rest["name"] is not None:
            checks.text("name", rest["name"], bounds.NAME_CHARS, empty=False)
        checks.integer("points", rest["points"], 1, bounds.HISTORY_POINTS)
        return cls(
            subject=Subject(checks.one_of("subject", subject, list(Subject))),
            span=Span(checks.one_of("span", span, list(Span))),
            **rest,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a lane or a queue did, in equal parts of a time, oldest first."""

    subject: Subject
    tenant: str
    name: str
    since: datetime
    #: How long a part is.
    step_ms: int
    #: A number for each part: waiting, active, held, submitted, completed, failed of a lane; ready,
    #: in_flight, dead, pushed, acked, expired of a queue. The first three are the highest levels of
    #: the part, the others count.
    figures: Mapping[str, tuple[int, ...]]


def _newest(rows: Sequence[str], now: int) -> int:
    """Return the row that a history ends with: not that of now before it has a sample."""
    newest = int(rows[-1].split()[0]) if rows else now
    return newest if newest == now - 1 else now


def history_of(series: str, rows: Sequence[str], span: Span, points: int, now_ms: int) -> History:
    """Return the history of a series, from the rows that the store keeps."""
    subject, tenant, name = series.split("|", 2)
    fold = -(-span.steps // points)
    last = _newest(rows, now_ms // span.step_ms) // fold
    parts = -(-span.steps // fold)
    names = FIGURES[Subject(subject)]
    sums = [[0] * parts for _ in names]
    for row in rows:
        bucket, *figures = map(int, row.split())
        part = bucket // fold - last + parts - 1
        if not 0 <= part < parts:
            continue
        for number, figure in enumerate(figures[: len(names)]):
            before = sums[number][part]
            sums[number][part] = max(before, figure) if number < LEVELS else before + figure
    step_ms = span.step_ms * fold
    return History(
        subject=Subject(subject),
        tenant=tenant,
        name=name,
        since=from_ms((last - parts + 1) * step_ms),
        step_ms=step_ms,
        figures={name: tuple(column) for name, column in zip(names, sums, strict=True)},
    )
