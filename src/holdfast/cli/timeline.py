"""Attempts of an execution as rows of a table, with bars on a common scale."""

from __future__ import annotations

from holdfast.cli.terminal import times
from holdfast.operate.timeline import Bar, Timeline

WIDTH = 32


def rows(timeline: Timeline) -> list[tuple[object, ...]]:
    """Return the number, kind, worker, start, length, outcome and bar of each attempt."""
    return [
        (
            f"#{bar.attempt.index + 1}",
            bar.attempt.kind,
            bar.attempt.worker,
            f"+{times.between(timeline.start, bar.start)}",
            times.between(bar.start, bar.end),
            bar.outcome,
            _drawn(timeline, bar),
        )
        for bar in timeline.bars
    ]


def _drawn(timeline: Timeline, bar: Bar) -> str:
    """Draw a bar of at least one character."""
    first = min(int(timeline.share(bar.start) * WIDTH), WIDTH - 1)
    last = max(round(timeline.share(bar.end) * WIDTH), first + 1)
    return "·" * first + "█" * (last - first) + "·" * (WIDTH - last)
