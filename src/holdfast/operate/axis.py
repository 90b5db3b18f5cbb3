"""A time axis that folds idle time, so that a month of waiting does not hide a second of work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

#: Idle time that is shown as it is takes up to this share of the busy time beside it.
_SHOWN_IDLE = 0.25
#: All folds together, and each of them, take up to these shares of the axis.
_FOLDS = 0.12
_FOLD = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the axis, drawn on one scale."""

    since: datetime
    until: datetime
    #: Where it starts and ends: 0 at the start of the axis, 1 at its end.
    start: float
    end: float
    #: Whether it is idle time that takes less room than its length.
    folded: bool

    @property
    def length(self) -> timedelta:
        """How long it lasts."""
        return self.until - self.since


@dataclass(frozen=True, slots=True)
class Axis:
    """Parts in order, without gaps."""

    parts: tuple[Part, ...]

    def place(self, moment: datetime) -> float:
        """Return the position of a time: 0 at the start, 1 at the end."""
        for part in self.parts:
            if moment < part.until:
                passed = max((moment - part.since).total_seconds(), 0.0)
                return part.start + (part.end - part.start) * passed / _seconds(part.length)
        return 1.0 if self.parts and moment >= self.parts[0].since else 0.0


def fold(since: datetime, until: datetime, busy: Iterable[tuple[datetime, datetime]]) -> Axis:
    """Return the axis of a time in which some intervals are busy; long idle ones are folded."""
    pieces = _pieces(since, until, busy)
    folded = _folded(pieces)
    room = min(_FOLDS, _FOLD * len(folded)) if len(folded) < len(pieces) else 1.0
    plain = sum(_seconds(b - a) for n, (a, b, _) in enumerate(pieces) if n not in folded)
    parts, at = [], 0.0
    for number, (start, end, _) in enumerate(pieces):
        is_folded = number in folded
        width = (
            room / len(folded)
            if is_folded
            else (1 - room * bool(folded)) * _seconds(end - start) / plain
        )
        parts.append(Part(since=start, until=end, start=at, end=at + width, folded=is_folded))
        at += width
    return Axis(tuple(parts))


def _pieces(
    since: datetime, until: datetime, busy: Iterable[tuple[datetime, datetime]]
) -> list[tuple[datetime, datetime, bool]]:
    """Return busy and idle intervals in turn, from the start to the end."""
    pieces: list[tuple[datetime, datetime, bool]] = []
    at = since
    for start, end in sorted((max(a, since), min(b, until)) for a, b in busy):
        if end <= at:
            continue
        if start > at:
            pieces.append((at, start, False))
        if pieces and pieces[-1][2]:
            pieces[-1] = (pieces[-1][0], end, True)
        else:
            pieces.append((max(at, start), end, True))
        at = end
    if at < until:
        pieces.append((at, until, False))
    return pieces


def _folded(pieces: list[tuple[datetime, datetime, bool]]) -> set[int]:
    """Return which idle pieces to fold: the longest, until the rest leaves enough for the work."""
    work = sum(_seconds(end - start) for start, end, is_busy in pieces if is_busy)
    idle = {n: _seconds(b - a) for n, (a, b, is_busy) in enumerate(pieces) if not is_busy}
    if not work:
        return set()
    folded = set()
    left = sum(idle.values())
    for number in sorted(idle, key=lambda n: -idle[n]):
        if left <= _SHOWN_IDLE * work:
            break
        folded.add(number)
        left -= idle[number]
    return folded


def _seconds(length: timedelta) -> float:
    return max(length.total_seconds(), 1e-6)
