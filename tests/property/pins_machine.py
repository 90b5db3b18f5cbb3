"""Pins under two routers of different generations, restarts, splits, lost replies and clock moves.

The store, the memory of a process and a plain model get the same calls. They agree on every pin; no
pin comes back that a router found stale; callers agree on one pin; only live pins count to the cap.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from holdfast.model.pins import Pin, PinKey, PinOutcome, PinRules, Roster, Skipped
from holdfast.routing import MemoryPins, Router, RoutingTable, StorePins
from holdfast.store.pins import Pins as PinCalls
from holdfast.testing.clock import START_MS
from tests.property.comparing import ComparingMachine
from tests.property.world import World
from tests.support.pinning import key, place

REVISIONS = ("a", "b", "c")
SESSIONS = ("s1", "s2", "s3")
READY = dict.fromkeys(REVISIONS, "ready")
TTL_MS = 1_000

routers = st.integers(0, 1)
sessions = st.sampled_from(SESSIONS)
splits = st.sampled_from(
    [
        *({name: 10_000} for name in REVISIONS),
        {"a": 5_000, "b": 5_000},
        {"b": 1, "c": 9_999},
        {"a": 2_000, "b": 3_000, "c": 5_000},
    ]
)


@dataclass
class Kept:
    """A pin of the model."""

    pin: Pin
    ends_ms: int


class PinModel:
    """Pins as they are described, without a thought about speed."""

    def __init__(self, rules: PinRules) -> None:
        self.rules = rules
        self.now_ms = START_MS
        self.kept: dict[str, Kept] = {}

    def live(self) -> dict[str, Kept]:
        """Return the pins that have not expired."""
        return {s: kept for s, kept in self.kept.items() if kept.ends_ms > self.now_ms}

    def _found(self, session: str, roster: Roster) -> Pin | None:
        kept = self.live().get(session)
        if kept is None:
            return None
        if kept.pin.generation > roster.generation:
            return kept.pin
        if roster.since.get(kept.pin.revision, kept.pin.generation + 1) > kept.pin.generation:
            return None
        left = kept.ends_ms - self.now_ms
        if not 0.9 * self.rules.ttl_ms < left <= self.rules.ttl_ms:
            kept.ends_ms = self.now_ms + self.rules.ttl_ms
        return kept.pin

    def lookup(self, session: str, roster: Roster) -> Pin | None:
        """Find and renew, or remove."""
        pin = self._found(session, roster)
        if pin is None:
            self.kept.pop(session, None)
        return pin

    def try_pin(self, session: str, revision: str, roster: Roster) -> Pin | None:
        """Find and renew, or write; None if the cap does not allow it."""
        pin = self._found(session, roster)
        if pin is not None:
            return pin
        live = self.live()
        if session not in live and len(live) >= self.rules.cap:
            if not self.rules.evict:
                return None
            soonest = min(live, key=lambda s: (live[s].ends_ms, s))
            del live[soonest]
        self.kept = live
        own = Pin(revision, roster.generation)
        self.kept[session] = Kept(own, self.now_ms + self.rules.ttl_ms)
        return own


class PinsMachine(ComparingMachine):
    """Two routers that see new splits late."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        empty = RoutingTable("local", "d", "t", 0, ())
        first = empty.followed_by({"a": 5_000, "b": 5_000}, READY)
        #: The durable history of splits.
        self.splits = [first, first.followed_by({"b": 5_000, "c": 5_000}, READY)]
        #: The split that each router knows.
        self.known = [0, 1]
        #: Pins that the newest split made stale, and nobody wrote again.
        self.dead: set[tuple[str, Pin]] = set()

    @initialize(
        cap=st.sampled_from((1, 2, 100)), evict=st.booleans(), clock_goes_back=st.booleans()
    )
    def begin(self, *, cap: int, evict: bool, clock_goes_back: bool) -> None:
        """Choose the rules of this run."""
        rules = PinRules(ttl_ms=TTL_MS, cap=cap, evict=evict)
        self.model = PinModel(rules)
        self.pins = StorePins(self.store, rules, deadline_s=10)
        self.pins._pins = PinCalls(self.store)
        #: The clock of a process never goes back.
        self.memory = None if clock_goes_back else MemoryPins(rules, clock=self._now_ms)

    def _now_ms(self) -> float:
        return self.model.now_ms

    def _table(self, router: int) -> RoutingTable:
        return self.splits[self.known[router]]

    @rule(weights=splits)
    def split(self, *, weights: dict[str, int]) -> None:
        """Change the split; no router knows it yet."""
        self.splits.append(self.splits[-1].followed_by(weights, READY))

    @rule(router=routers, back=st.integers(0, 3))
    def restart(self, *, router: int, back: int) -> None:
        """Read the newest split, or one that a cache still has."""
        self.known[router] = max(0, len(self.splits) - 1 - back)

    @rule(ms=st.sampled_from((99, 100, 500, 600, 999, 1_000)), forth=st.booleans())
    def move_clock(self, *, ms: int, forth: bool) -> None:
        """Let time pass, or set the clock of the server back."""
        self.model.now_ms += ms if forth or self.memory is not None else -ms
        self.world.run(self.world.clock.set(self.model.now_ms))

    @rule(router=routers, session=sessions)
    def look(self, *, router: int, session: str) -> None:
        """Look a pin up."""
        roster = self._table(router).roster
        self._note_dead(router, session)
        expected = self.model.lookup(session, roster)
        assert self.world.run(self.pins.lookup(key(session), roster)) == expected
        if self.memory is not None:
            assert self.world.run(self.memory.lookup(key(session), roster)) == expected
        self._check_alive(session, expected)

    @rule(router=routers, session=sessions, draw=st.integers(0, 2))
    def pin(self, *, router: int, session: str, draw: int) -> None:
        """Pin to any revision that takes new sessions."""
        roster = self._table(router).roster
        revision = sorted(roster.since)[draw % len(roster.since)]
        self._note_dead(router, session)
        expected = self.model.try_pin(session, revision, roster)
        outcome = self.world.run(self.pins.try_pin(key(session), revision, roster))
        self._compare(outcome, expected)
        if self.memory is not None:
            kept = self.world.run(self.memory.try_pin(key(session), revision, roster))
            self._compare(kept, expected)
        if expected is not None:
            if expected == Pin(revision, roster.generation):
                self.dead.discard((session, expected))
            self._check_alive(session, expected)
            again = self.world.run(self.pins.lookup(key(session), roster, peek=True))
            assert again == expected

    @rule(router=routers, session=sessions)
    def route(self, *, router: int, session: str) -> None:
        """Route a message, as a process does."""
        table = self._table(router)
        choice = table.choose(session)
        assert choice is not None
        self._note_dead(router, session)
        pin = self.model.try_pin(session, choice, table.roster)
        decision = self.world.run(Router(self.pins).route(table, session))
        if self.memory is not None:
            assert self.world.run(Router(self.memory).route(table, session)).revision == (
                decision.revision
            )
        usable = pin is not None and pin.revision in table.roster.since
        assert decision.revision == (pin.revision if pin and usable else choice)
        if pin == Pin(choice, table.generation):
            self.dead.discard((session, pin))

    def _compare(self, outcome: PinOutcome, expected: Pin | None) -> None:
        if expected is None:
            assert isinstance(outcome, Skipped)
        else:
            assert not isinstance(outcome, Skipped)
            assert outcome.pin == expected

    def _note_dead(self, router: int, session: str) -> None:
        """Remember a pin that the newest split makes stale when a router of it sees the pin."""
        kept = self.model.live().get(session)
        is_newest = self.known[router] == len(self.splits) - 1
        if kept is not None and is_newest and not self._table(router).roster.holds(kept.pin):
            self.dead.add((session, kept.pin))

    def _check_alive(self, session: str, pin: Pin | None) -> None:
        assert pin is None or (session, pin) not in self.dead

    @invariant()
    def only_live_pins_count(self) -> None:
        """The cap holds, and the store keeps the pins of the model."""
        if not hasattr(self, "model"):
            return
        scope = place(PinKey("local", "d", "t", "s")).scope
        dump = self.world.dump()
        ends = dump.get(f"{self.world.tag}:pin_ends:{scope}", {})
        live = {s.decode(): int(end) for s, end in ends.items() if end > self.model.now_ms}
        assert live == {s: kept.ends_ms for s, kept in self.model.live().items()}
        assert len(live) <= self.model.rules.cap
        assert ends.keys() == dump.get(f"{self.world.tag}:pins:{scope}", {}).keys()
