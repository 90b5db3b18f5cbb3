"""Budgets against a plain model: charged is the sum of what was accepted, below every limit.

A tree of budgets, keys that are used again, reservations that run out, lost replies, clock jumps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from holdfast.errors import ReservationNotFound
from holdfast.model.budgets import ChargeStatus, Limit, NewBudget
from holdfast.testing.clock import START_MS
from tests.property.comparing import ComparingMachine
from tests.property.world import World

DIMENSIONS = ("tokens", "calls")
#: Each budget and its parent; the limits are those of the start.
TREE: dict[str, str | None] = {"top": None, "left": "top", "leaf": "left", "right": "top"}
LIMITS: dict[str, dict[str, dict[str, int]]] = {
    "top": {"tokens": {"hard": 100, "soft": 60}},
    "left": {"tokens": {"hard": 70}, "calls": {"hard": 5}},
    "leaf": {},
    "right": {"tokens": {"soft": 10}, "calls": {"hard": 3, "soft": 1}},
}
PERIOD_MS = 60_000

budgets = st.sampled_from(tuple(TREE))
keys = st.integers(0, 6).map("k{}".format)
usages = st.fixed_dictionaries(
    {}, optional={"tokens": st.integers(0, 40), "calls": st.integers(0, 3)}
).filter(bool)


@dataclass
class Plain:
    """A budget of the model."""

    limits: dict[str, dict[str, int]]
    used: dict[str, int] = field(default_factory=dict)
    reserved: dict[str, int] = field(default_factory=dict)
    accepted: int = 0

    def current(self, dimension: str) -> int:
        """Return what counts against the limits."""
        return self.used.get(dimension, 0) + self.reserved.get(dimension, 0)


def add(target: dict[str, int], amounts: dict[str, int], sign: int = 1) -> None:
    """Add amounts."""
    for name, amount in amounts.items():
        target[name] = target.get(name, 0) + sign * amount


class BudgetMachine(ComparingMachine):
    """Every rule charges the store and the model alike."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.store.budgets._roots.clear()
        self.now = START_MS
        self.next_reset = START_MS + PERIOD_MS
        self.plain = {name: Plain({d: dict(v) for d, v in LIMITS[name].items()}) for name in TREE}
        #: What became of each key: reserved amounts with their end, or a word.
        self.memory: dict[tuple[str, str], Any] = {}
        self.calls = 0
        for name, parent in TREE.items():
            limits = {d: Limit(**v) for d, v in LIMITS[name].items()}
            period = PERIOD_MS if name == "right" else None
            new = NewBudget(id=name, parent=parent, limits=limits, reset_ms=period)
            world.run(self.store.budgets.create(new))

    def _chain(self, name: str | None) -> list[Plain]:
        found = []
        while name is not None:
            found.append(self.plain[name])
            name = TREE[name]
        return found

    def _fits(self, name: str, usage: dict[str, int], back: dict[str, int]) -> bool:
        for one in self._chain(name):
            for dimension, amount in usage.items():
                hard = one.limits.get(dimension, {}).get("hard")
                more = amount - back.get(dimension, 0)
                if hard is not None and more > 0 and one.current(dimension) + more > hard:
                    return False
        return True

    def _charge(self, name: str, usage: dict[str, int]) -> ChargeStatus:
        soft = False
        for one in self._chain(name):
            add(one.used, usage)
            for dimension, amount in usage.items():
                limit = one.limits.get(dimension, {}).get("soft")
                soft |= limit is not None and amount > 0 and one.current(dimension) > limit
        return ChargeStatus.SOFT_BREACH if soft else ChargeStatus.OK

    def _agree_status(self, status: ChargeStatus, expected: ChargeStatus) -> None:
        # After a lost reply the second call says that the first was applied.
        if self.world.caller.lossy and expected is not ChargeStatus.HARD_BREACH:
            expected = ChargeStatus.ALREADY_APPLIED
        assert status is expected

    @rule(name=budgets, usage=usages, key=st.one_of(st.none(), keys))
    def report(self, *, name: str, usage: dict[str, int], key: str | None) -> None:
        """Charge, with a key or without."""
        known = key is not None and (name, key) in self.memory
        if known and isinstance(self.memory[name, str(key)], tuple):
            return
        charge = self.world.run(self.store.budgets.report(name, usage, key, "e1"))
        if known:
            assert charge.status is ChargeStatus.ALREADY_APPLIED
        elif not self._fits(name, usage, {}):
            self._agree_status(charge.status, ChargeStatus.HARD_BREACH)
        else:
            self._agree_status(charge.status, self._charge(name, usage))
            if key is not None:
                self.memory[name, key] = "reported"

    @rule(name=budgets, usage=usages, key=keys, ttl_ms=st.sampled_from((1, 1_000, 50_000)))
    def reserve(self, *, name: str, usage: dict[str, int], key: str, ttl_ms: int) -> None:
        """Set amounts aside."""
        known = self.memory.get((name, key))
        answer = self.world.run(self.store.budgets.reserve(name, usage, key, ttl_ms))
        if known is not None:
            assert answer.status is ChargeStatus.ALREADY_APPLIED
            assert answer.reserved == (known[0] if isinstance(known, tuple) else {})
        elif not self._fits(name, usage, {}):
            self._agree_status(answer.status, ChargeStatus.HARD_BREACH)
        else:
            self._agree_status(answer.status, ChargeStatus.OK)
            assert answer.reserved == usage
            for one in self._chain(name):
                add(one.reserved, usage)
            self.memory[name, key] = (usage, self.now + ttl_ms)

    @rule(name=budgets, usage=usages, key=keys)
    def settle(self, *, name: str, usage: dict[str, int], key: str) -> None:
        """Charge what was used of a reservation, or of one that ran out."""
        known = self.memory.get((name, key))
        try:
            charge = self.world.run(self.store.budgets.settle(name, usage, key, "e1"))
        except ReservationNotFound:
            assert known is None
            return
        if known in ("reported", "settled"):
            assert charge.status is ChargeStatus.ALREADY_APPLIED
            return
        assert known is not None
        back = known[0] if isinstance(known, tuple) else {}
        if not self._fits(name, usage, back):
            self._agree_status(charge.status, ChargeStatus.HARD_BREACH)
            return
        for one in self._chain(name):
            add(one.reserved, back, -1)
        self._agree_status(charge.status, self._charge(name, usage))
        self.memory[name, key] = "settled"

    @rule(
        name=budgets,
        dimension=st.sampled_from(DIMENSIONS),
        kind=st.sampled_from(("hard", "soft")),
        amount=st.one_of(st.none(), st.integers(0, 120)),
    )
    def limit(self, *, name: str, dimension: str, kind: str, amount: int | None) -> None:
        """An operator changes a limit."""
        self.world.run(self.store.budgets.set(name, {(dimension, kind): amount}))
        limits = self.plain[name].limits.setdefault(dimension, {})
        limits.pop(kind, None)
        if amount is not None:
            limits[kind] = amount

    @rule(name=budgets)
    def reset(self, *, name: str) -> None:
        """An operator starts a budget anew."""
        self.world.run(self.store.budgets.reset(name))
        self.plain[name].used.clear()

    @rule(ms=st.sampled_from((1, 1_000, 30_000, 200_000)), look=st.booleans())
    def pass_time(self, *, ms: int, look: bool) -> None:
        """Time passes, and somebody looks or not."""
        self.now += ms
        self.world.run(self.world.clock.set(self.now))
        if look:
            self._fire()

    def _fire(self) -> None:
        self.world.run(self.world.clock.tick())
        for (name, key), known in list(self.memory.items()):
            if isinstance(known, tuple) and known[1] <= self.now:
                for one in self._chain(name):
                    add(one.reserved, known[0], -1)
                self.memory[name, key] = "expired"
        if self.next_reset <= self.now:
            self.plain["right"].used.clear()
            while self.next_reset <= self.now:
                self.next_reset += PERIOD_MS

    @invariant()
    def holds(self) -> None:
        """Usage and reservations are those of the model; nothing is above what was allowed."""
        for name, plain in self.plain.items():
            found = self.world.run(self.store.budgets.get(name))
            assert dict(found.usage) == {d: n for d, n in plain.used.items() if n}, name
            assert dict(found.reserved) == {d: n for d, n in plain.reserved.items() if n}, name

    def teardown(self) -> None:
        """In the end every reservation returns."""
        self.world.caller.lossy = False
        self.now += 1_000_000
        self.world.run(self.world.clock.set(self.now))
        self._fire()
        self.holds()
        assert all(not any(plain.reserved.values()) for plain in self.plain.values())
