"""What an execution did when: spans of its history, its steps and its children, on one axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from holdfast.model.executions import Event, Execution, Step
from holdfast.operate.axis import Axis, fold

#: Events after which a worker has it, and events after which none has.
_STARTS = frozenset({"claimed", "resumed"})
_FAILS = frozenset({"failed", "timed_out", "lease_expired", "lease_revoked"})
_ENDS = frozenset({"completed", "cancelled", "expired", "skipped"})
#: How a span is called while it waits for something.
_WAITS = {"delayed": "delay", "suspended": "wait", "rate_limited": "limit"}
_READY = frozenset({"woken", "replayed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Something that took time."""

    #: queue, delay, wait, limit, run, step or child.
    type: str
    label: str
    #: In which row to draw it, from 0.
    row: int
    since: datetime
    #: None while it lasts.
    until: datetime | None
    #: How it ended, or the state of a child; `running` while it lasts.
    state: str
    #: More about it in words.
    text: str = ""
    #: The execution that it is about, if it is another.
    execution: str | None = None
    #: What a step used, such as tokens, if its result says so.
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """The spans of an execution, and the axis to draw them on."""

    axis: Axis
    spans: tuple[Span, ...]
    #: How many rows there are.
    rows: int
    #: The share of the axis on which it or a child was running.
    work_share: float
    now: datetime

    def end(self, span: Span) -> datetime:
        """Return when a span ends; one that lasts ends now."""
        return span.until or self.now


def of(
    execution: Execution,
    history: Sequence[Event],
    steps: Sequence[Step],
    children: Sequence[Execution],
    now: datetime,
) -> Spans:
    """Return the spans of an execution."""
    life = list(_life(execution, history))
    runs = [span for span in life if span.type == "run"]
    first_row = 1 + max((span.row for span in runs), default=0)
    found = [*life, *_steps(steps, runs, first_row)]
    row = first_row + bool(steps)
    found += [_child(child, row + n) for n, child in enumerate(children)]
    until = max([execution.completed_at or now, *(span.until or now for span in found)])
    busy = _merged(
        [(span.since, span.until or now) for span in found if span.type in {"run", "child"}]
    )
    axis = fold(execution.created_at, until, busy)
    return Spans(
        axis=axis,
        spans=tuple(found),
        rows=row + len(children),
        work_share=sum(axis.place(end) - axis.place(start) for start, end in busy),
        now=until,
    )


def of_members(members: Sequence[Execution], now: datetime) -> Spans:
    """Return the spans of executions below each other: in line, then running."""
    found: list[Span] = []
    for row, member in enumerate(sorted(members, key=lambda one: (one.created_at, one.id))):
        run = replace(_child(member, row), label=member.id.partition("~")[2] or member.kind)
        started = member.started_at or member.completed_at
        waited = replace(run, type="queue", since=member.created_at, until=started, state="over")
        found += [waited, run] if member.started_at else [waited]
    until = max([span.until or now for span in found], default=now)
    since = min([span.since for span in found], default=now)
    busy = _merged([(one.since, one.until or now) for one in found if one.type == "child"])
    axis = fold(since, until, busy)
    work = sum(axis.place(end) - axis.place(start) for start, end in busy)
    return Spans(axis=axis, spans=tuple(found), rows=len(members), work_share=work, now=until)


def _life(execution: Execution, history: Sequence[Event]) -> Iterator[Span]:
    """Yield the spans between events: in line, held, and running, each attempt in its row."""
    span = Span(
        type="queue", label="in line", row=0, since=execution.created_at, until=None, state=""
    )
    for event in history:
        following = _after(event)
        if following is None:
            continue
        yield replace(span, until=event.at, state=_outcome(span, event), text=_error(event, span))
        if following.type == "delay":
            # A delay ends when it is due; from then on the execution is in line.
            due = event.data.get("run_at") or event.data.get("retry_at")
            if isinstance(due, datetime) and due <= _next(history, event, execution):
                yield replace(following, until=due, state="over")
                following = replace(following, type="queue", label="in line", since=due)
        span = following
        if event.event in _ENDS or (event.event == "failed" and "retry_at" not in event.data):
            span = replace(span, type="end")
    if span.type != "end":
        yield replace(span, state="running")


def _next(history: Sequence[Event], event: Event, execution: Execution) -> datetime:
    """Return when something happened after an event; the far future if nothing has."""
    later = [one.at for one in history if one.at >= event.at and one is not event]
    return min(later, default=datetime.max.replace(tzinfo=execution.created_at.tzinfo))


def _after(event: Event) -> Span | None:
    """Return the span that an event begins; None if it only happened during the last."""
    name, at = event.event, event.at
    if name in _STARTS:
        attempt = int(event.data.get("attempt") or 0)
        worker = str(event.data.get("worker") or "")
        label = f"attempt #{attempt + 1}"
        return Span(
            type="run", label=label, row=1 + attempt, since=at, until=None, state="", text=worker
        )
    held = Span(type="queue", label="in line", row=0, since=at, until=None, state="")
    if name in _WAITS:
        label = {"delayed": "sleeps", "suspended": "waits", "rate_limited": "limited"}[name]
        return replace(held, type=_WAITS[name], label=label)
    if name in _FAILS:
        return (
            replace(held, type="delay", label="retries later") if "retry_at" in event.data else held
        )
    if name in _READY or name in _ENDS:
        return held
    return None


def _outcome(span: Span, event: Event) -> str:
    if span.type != "run":
        return "over"
    return {"delayed": "slept", "suspended": "parked"}.get(event.event, event.event)


def _error(event: Event, span: Span) -> str:
    error = event.data.get("error")
    if span.type != "run" or not isinstance(error, dict):
        return span.text
    return f"{error.get('type', '')}: {error.get('message', '')}"


def _steps(steps: Iterable[Step], runs: Sequence[Span], row: int) -> Iterator[Span]:
    """Yield recorded steps: each from the one before, or from where its run began."""
    last: datetime | None = None
    for step in steps:
        begun = [run.since for run in runs if run.since <= step.at]
        since = max([*begun[-1:], *([last] if last else [])], default=step.at)
        last = step.at
        yield Span(
            type="step",
            label=step.name,
            row=row,
            since=since,
            until=step.at,
            state="recorded",
            usage=_usage(step.result),
        )


def _usage(result: bytes) -> Mapping[str, int]:
    """Return the numbers under `usage` of a result, as calls of models have them."""
    if b'"usage"' not in result:
        return {}
    try:
        found = msgspec.json.decode(result, type=_Result)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    usage = found.usage or (found.ok.usage if found.ok else None) or {}
    return {name: value for name, value in usage.items() if isinstance(value, int)}


class _Used(msgspec.Struct):
    usage: dict[str, Any] | None = None


class _Result(_Used):
    #: A node of a flow records its outcome under `ok`.
    ok: _Used | None = None


def _child(child: Execution, row: int) -> Span:
    return Span(
        type="child",
        label=child.kind,
        row=row,
        since=child.started_at or child.created_at,
        until=child.completed_at,
        state=child.state,
        execution=child.id,
    )


def _merged(intervals: list[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    merged: list[tuple[datetime, datetime]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
