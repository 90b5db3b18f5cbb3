"""Stores of pins under test: the same three, with a clock that tests set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.pins import Pin, PinKey, PinPlace, PinRules, Roster
from holdfast.routing import MemoryPins, Pins, StorePins
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock

TTL_MS = 60_000
RULES = PinRules(ttl_ms=TTL_MS)


def roster(generation: int, since: Mapping[str, int] | None = None) -> Roster:
    """Return a roster; without `since`, r1 and r2 have been in every split."""
    return Roster(generation, {"r1": 0, "r2": 0} if since is None else since)


def key(session: str = "s", *, tenant: str = "t", deployment: str = "d") -> PinKey:
    """Return the key of a session."""
    return PinKey("local", deployment, tenant, session)


def place(pin_key: PinKey) -> PinPlace:
    """Return where a pin is kept."""
    found = pin_key.place()
    assert found is not None
    return found


@dataclass
class PinWorld:
    """Routers that share one place for pins: a store, or the memory of a process."""

    store: Store | None = None
    now_ms: float = START_MS
    _memory: MemoryPins | None = field(default=None)

    def router(self, rules: PinRules = RULES) -> Pins:
        """Return the pins of a router, with rules of its own."""
        if self.store is not None:
            # A busy machine must not make a test fail.
            return StorePins(self.store, rules, deadline_s=5)
        pins = MemoryPins(rules, clock=lambda: self.now_ms)
        if self._memory is None:
            self._memory = pins
        pins._scopes = self._memory._scopes
        return pins

    async def advance(self, ms: int) -> None:
        """Let time pass."""
        self.now_ms += ms
        if self.store is not None:
            clock = Clock(self.store)
            await clock.set(int(self.now_ms))

    async def live(self, pin_key: PinKey) -> int:
        """Return how many pins of a scope are kept and have not expired."""
        scope = place(pin_key).scope
        if self.store is None:
            kept = self._memory._scopes[scope].pins.values() if self._memory else ()
            return sum(one.ends_ms > self.now_ms for one in kept)
        ends = f"{self.store.tag_of(scope)}:pin_ends:{scope}"
        reply = await self.store.client.call(["ZCOUNT", ends, f"({int(self.now_ms)}", "+inf"])
        return int(reply)


R1, R2 = Pin("r1", 1), Pin("r2", 1)
