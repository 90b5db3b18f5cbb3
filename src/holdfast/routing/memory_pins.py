"""Pins of one process, in memory."""

from __future__ import annotations

import heapq
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from typing_extensions import override

from holdfast.model.pins import Finding, Pin, PinPlace, PinRules, Roster
from holdfast.routing.pins import Pins

#: A pin is renewed when this part of its TTL has passed, as in the store.
_RENEW_AFTER = 0.1
_MOST_ENDS_PER_PIN = 16


def _monotonic_ms() -> float:
    return time.monotonic() * 1000


@dataclass(slots=True)
class _Kept:
    """A pin and when it expires."""

    pin: Pin
    ttl_ms: int
    ends_ms: float


@dataclass(slots=True)
class _Scope:
    """The pins that are counted together."""

    pins: dict[str, _Kept] = field(default_factory=dict)
    #: Sessions by the end of their pin, a heap; a renewed pin leaves its earlier end behind.
    ends: list[tuple[float, str]] = field(default_factory=list)

    def put(self, session: str, kept: _Kept) -> None:
        self.pins[session] = kept
        self._add_end(session, kept)

    def renew(self, session: str, kept: _Kept, now_ms: float) -> None:
        left_ms = kept.ends_ms - now_ms
        if left_ms <= kept.ttl_ms * (1 - _RENEW_AFTER):
            kept.ends_ms = now_ms + kept.ttl_ms
            self._add_end(session, kept)

    def trim(self, now_ms: float) -> None:
        """Remove expired pins."""
        while self.ends and self.ends[0][0] <= now_ms:
            self._remove_first()

    def evict(self, most: int) -> None:
        """Remove the pins that expire first, until there are no more than `most`."""
        while len(self.pins) > most:
            self._remove_first()

    def _add_end(self, session: str, kept: _Kept) -> None:
        heapq.heappush(self.ends, (kept.ends_ms, session))
        if len(self.ends) > _MOST_ENDS_PER_PIN * (len(self.pins) + 1):
            self.ends = [(kept.ends_ms, session) for session, kept in self.pins.items()]
            heapq.heapify(self.ends)

    def _remove_first(self) -> None:
        ends_ms, session = heapq.heappop(self.ends)
        kept = self.pins.get(session)
        if kept is not None and kept.ends_ms == ends_ms:
            del self.pins[session]


@final
class MemoryPins(Pins):
    """Pins for tests and for a host that runs alone; for one event loop, and gone at its end."""

    def __init__(
        self, rules: PinRules | None = None, *, clock: Callable[[], float] = _monotonic_ms
    ) -> None:
        super().__init__(rules)
        self._clock = clock
        #: Scopes in the order of their last use.
        self._scopes: OrderedDict[str, _Scope] = OrderedDict()

    def __len__(self) -> int:
        return sum(len(scope.pins) for scope in self._scopes.values())

    @override
    async def _try_pin(
        self, place: PinPlace, own: Pin, roster: Roster
    ) -> tuple[Finding, Pin | None]:
        now_ms = self._clock()
        scope = self._scope(place.scope, now_ms)
        kept = scope.pins.get(place.session)
        if kept is not None and _is_left_alone(kept.pin, roster):
            self._renew(scope, place.session, roster, now_ms)
            return Finding.HIT, kept.pin
        if kept is None:
            if len(scope.pins) >= self.rules.cap and not self.rules.evict:
                return Finding.REFUSED, None
            scope.evict(self.rules.cap - 1)
        scope.put(place.session, _Kept(own, self.rules.ttl_ms, now_ms + self.rules.ttl_ms))
        return (Finding.MISS if kept is None else Finding.STALE), None

    @override
    async def _lookup(
        self, place: PinPlace, roster: Roster, *, peek: bool
    ) -> tuple[Finding, Pin | None]:
        now_ms = self._clock()
        scope = self._scope(place.scope, now_ms)
        kept = scope.pins.get(place.session)
        if kept is None:
            return Finding.MISS, None
        if _is_left_alone(kept.pin, roster):
            if not peek:
                self._renew(scope, place.session, roster, now_ms)
            return Finding.HIT, kept.pin
        if not peek:
            del scope.pins[place.session]
        return Finding.STALE, None

    def _scope(self, name: str, now_ms: float) -> _Scope:
        """Return a scope without expired pins, and clean up the one that was not used longest."""
        scope = self._scopes.setdefault(name, _Scope())
        self._scopes.move_to_end(name)
        scope.trim(now_ms)
        oldest, idle = next(iter(self._scopes.items()))
        idle.trim(now_ms)
        if not idle.pins and idle is not scope:
            del self._scopes[oldest]
        return scope

    @staticmethod
    def _renew(scope: _Scope, session: str, roster: Roster, now_ms: float) -> None:
        kept = scope.pins[session]
        if not roster.is_behind(kept.pin):
            scope.renew(session, kept, now_ms)


def _is_left_alone(pin: Pin, roster: Roster) -> bool:
    """Whether the pin holds, or was written by a router that knows more."""
    return roster.is_behind(pin) or roster.holds(pin)
