"""Forecasts: when nothing needs a revision any more, so that its drain ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from holdfast.model.moments import to_ms
from holdfast.model.revisions import Lifecycle, Revision

_HOUR = timedelta(hours=1)
#: A drain that began later says little about its rate.
_SOON = timedelta(minutes=5)
_UNITS = ((timedelta(days=1), "day"), (_HOUR, "hour"), (timedelta(minutes=1), "minute"))
_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospects:
    """What the partitions know of those that need a revision."""

    running: int = 0
    waiting: int = 0
    #: How many of the waits end by themselves, as far as they were looked at.
    timed: int = 0
    #: When the last of these waits ends.
    last: datetime | None = None
    #: How many executions stopped needing it, by the number of the minute; of the last hour.
    left: Mapping[int, int] = field(default_factory=dict)

    def __add__(self, other: Prospects) -> Prospects:
        """Return the prospects of two partitions together."""
        ends = [end for end in (self.last, other.last) if end is not None]
        return Prospects(
            running=self.running + other.running,
            waiting=self.waiting + other.waiting,
            timed=self.timed + other.timed,
            last=max(ends, default=None),
            left=Counter(self.left) + Counter(other.left),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When nothing needs a revision any more, if nothing new starts on it."""

    #: Executions that need it and run, or are about to.
    running: int
    #: Executions that need it and wait.
    waiting: int
    #: How many stopped needing it since `since`.
    left: int
    since: datetime
    #: When, about; None if nothing foretells it.
    ends_at: datetime | None
    #: The same in words, with what it is based on.
    sentence: str


def foretell(revision: Revision, prospects: Prospects, now: datetime) -> Forecast:
    """Foretell the end of a drain from its rate, from the ends of the waits and its deadline."""
    since, rate = _window(revision, now)
    first = to_ms(since) // _MINUTE_MS
    left = sum(count for minute, count in prospects.left.items() if minute >= first)
    needed = prospects.running + prospects.waiting
    at_rate = now + (now - since) * needed / left if left else None
    is_draining = revision.lifecycle is Lifecycle.DRAINING
    deadline = revision.deadline_at if is_draining else None
    if not needed:
        ends_at, sentence = None, "nothing needs it"
    elif deadline is not None and deadline <= now:
        ends_at, sentence = now, "overdue: what is left moves or ends within about a minute"
    else:
        ends_at, reason = _by_itself(prospects, at_rate, rate)
        if deadline is not None and (ends_at is None or deadline < ends_at):
            would = "" if ends_at is None else f"it would take {_about(ends_at - now)}, "
            sentence = f"{_about(deadline - now)}, at its deadline: {would}{reason}"
            ends_at = deadline
        else:
            start = "cannot say: " if ends_at is None else f"{_about(ends_at - now)}, "
            sentence = start + reason
    return Forecast(
        running=prospects.running,
        waiting=prospects.waiting,
        left=left,
        since=since,
        ends_at=ends_at,
        sentence=sentence,
    )


def _window(revision: Revision, now: datetime) -> tuple[datetime, str]:
    """Return since when departures count, and this in words."""
    begun = revision.drained_at if revision.lifecycle is Lifecycle.DRAINING else None
    if begun is not None and _SOON <= now - begun < _HOUR:
        return begun, "since the drain began"
    return now - _HOUR, "in the last hour"


def _by_itself(
    prospects: Prospects, at_rate: datetime | None, window: str
) -> tuple[datetime | None, str]:
    """Return when the last one goes, None if nothing foretells it, and why."""
    is_timed = prospects.running == 0 and prospects.timed == prospects.waiting
    if is_timed and prospects.last is not None and (at_rate is None or prospects.last < at_rate):
        return prospects.last, "when the last wait times out"
    if at_rate is not None:
        return at_rate, f"at the rate {window.replace('in the', 'of the')}"
    reason = f"nothing has ended on it {window}"
    unlimited = prospects.waiting - prospects.timed
    if unlimited:
        reason += f", and {unlimited:,} of {prospects.waiting:,} waits have no known end"
    return None, reason


def _about(left: timedelta) -> str:
    """Return a duration in one unit, rounded: 90 minutes say more than 2 hours."""
    for size, unit in _UNITS:
        number = round(left / size)
        if number > 1:
            return f"about {number:,} {unit}s"
    return "about a minute"
