"""The contract of stores of pins, and what all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter

from holdfast.model.pins import (
    Existing,
    Finding,
    Inserted,
    Pin,
    PinKey,
    PinOutcome,
    PinPlace,
    PinRules,
    Roster,
    Skipped,
)


class Pins(ABC):
    """Pins of sessions to revisions.

    A call never raises: a pin only saves a session from moving, so the message goes on without it.
    Concurrent callers of one session agree on one pin.
    """

    def __init__(self, rules: PinRules | None = None) -> None:
        self.rules: PinRules = rules or PinRules()
        #: How often calls of this process found what; metrics show it.
        self.counts: Counter[Finding] = Counter()

    async def try_pin(self, key: PinKey, revision: str, roster: Roster) -> PinOutcome:
        """Pin a session to a revision of the roster, unless it has a pin that holds.

        A pin that holds is renewed. One that expired, that no longer holds or that cannot be read
        is replaced. A pin of a later generation than the roster's is left alone.
        """
        own = Pin(revision, roster.generation)
        place = key.place()
        if place is None or revision not in roster.since:
            self.counts[Finding.REFUSED] += 1
            return Skipped(own)
        finding, pin = await self._try_pin(place, own, roster)
        self.counts[finding] += 1
        if pin is not None:
            return Existing(pin)
        written = finding is Finding.MISS or finding is Finding.STALE
        return Inserted(own) if written else Skipped(own)

    async def lookup(self, key: PinKey, roster: Roster, *, peek: bool = False) -> Pin | None:
        """Return the pin of a session and renew it, or None if it has none that holds.

        A pin that no longer holds is removed. With `peek` nothing changes, and nothing is counted.
        """
        place = key.place()
        if place is None:
            finding, pin = Finding.REFUSED, None
        else:
            finding, pin = await self._lookup(place, roster, peek=peek)
        if not peek:
            self.counts[finding] += 1
        return pin

    @abstractmethod
    async def _try_pin(
        self, place: PinPlace, own: Pin, roster: Roster
    ) -> tuple[Finding, Pin | None]:
        """Write `own` and return MISS or STALE, or return HIT with a pin that holds, or REFUSED."""

    @abstractmethod
    async def _lookup(
        self, place: PinPlace, roster: Roster, *, peek: bool
    ) -> tuple[Finding, Pin | None]:
        """Return HIT with a pin that holds, or MISS or STALE without one."""
