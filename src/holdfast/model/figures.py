"""Figures of a revision: how many turns ended on it, how many failed, and how long they took.

The store counts a turn under a letter, `o` or `f` if it failed, and the class of its latency: the
whole part of 4 times its logarithm to the base 2, in ms. A class is 19 % wide.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

#: Turns are counted in intervals of this length.
INTERVAL_MS = 10_000
#: Earlier turns are forgotten.
WINDOW_MS = 3_600_000

_FAILED = "f"
_CLASSES_PER_OCTAVE = 4
_WHOLE_BPS = 10_000


@dataclass(frozen=True, slots=True)
class Histogram:
    """Turns by outcome and class of latency, as the store counts them."""

    counts: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Histogram) -> Histogram:
        """Return the turns of two partitions, or of two revisions, together."""
        return Histogram(Counter(self.counts) + Counter(other.counts))

    @property
    def turns(self) -> int:
        """How many ended."""
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return sum(count for name, count in self.counts.items() if name[0] == _FAILED)

    def percentile_ms(self, percent: int) -> int | None:
        """Return a latency that this part of the turns did not exceed; None without turns."""
        classes: Counter[int] = Counter()
        for name, count in self.counts.items():
            classes[int(name[1:])] += count
        rank = -(-percent * classes.total() // 100)
        for number in sorted(classes):
            rank -= classes[number]
            if rank <= 0:
                return math.ceil(2 ** ((number + 1) / _CLASSES_PER_OCTAVE))
        return None

    def summary(self, since: datetime) -> Figures:
        """Return what people read."""
        turns, failed = self.turns, self.failed
        return Figures(
            since=since,
            turns=turns,
            failed=failed,
            error_rate_bps=None if turns == 0 else failed * _WHOLE_BPS // turns,
            p50_ms=self.percentile_ms(50),
            p95_ms=self.percentile_ms(95),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What turns of a revision did since a time."""

    since: datetime
    #: Turns that ended; those that were cancelled do not count.
    turns: int
    #: Turns whose execution failed or expired.
    failed: int
    #: Failed turns in 10,000; None without turns.
    error_rate_bps: int | None
    #: The latency that half of the turns did not exceed, in steps of 19 %.
    p50_ms: int | None
    #: The latency that 95 % of the turns did not exceed.
    p95_ms: int | None
