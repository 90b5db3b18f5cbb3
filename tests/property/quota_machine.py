"""Quotas: admitted minus released is what runs, whoever dies when.

Claims stop at any point, messages between partitions arrive late, twice or in part, leases expire,
executions are cancelled and revoked, clocks jump, replies are lost. Never more than the limit run;
and when everything has come to rest, nothing is held by anybody who does not run, and nobody waits
while there is room.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from holdfast.engine.admission import Admission
from holdfast.engine.courier import Courier
from holdfast.errors import HoldfastError
from holdfast.model.executions import Claim, Failure, NewExecution
from holdfast.model.quotas import NewQuota
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import State
from holdfast.store.grants import Grant, Verdict, Wanted
from holdfast.store.outboxes import Release, WakeUp, parse
from holdfast.testing.clock import START_MS
from tests.property.comparing import ComparingMachine
from tests.property.world import World
from tests.support.invariants import violations
from tests.support.limits import claim_as_before, wanted

MOST_EXECUTIONS = 12
SLOTS = {"one": 1, "two": 2, "both": 3}
RATES = {"rate": (2, 1_000), "both": (4, 5_000)}
QUOTAS = ("one", "two", "rate", "both")
LEASE_MS = 8_000

indexes = st.integers(0, 1_000)


@dataclass
class UnderWay:
    """A claim between two of its calls."""

    asked: Wanted
    grants: list[Grant]
    held: dict[str, Verdict] | None = None


class QuotaMachine(ComparingMachine):
    """Workers, operators and couriers that may stop anywhere."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.courier = Courier(self.store)
        self.admission = Admission(self.store, self.courier)
        self.now = START_MS
        self.ids: list[str] = []
        self.claims: list[Claim] = []
        self.under_way: list[UnderWay] = []
        #: Those that were leased and whose quotas have not admitted them, with their epochs.
        self.unasked: set[tuple[str, int]] = set()
        self.requests = 0
        for name in QUOTAS:
            most, window = RATES.get(name, (None, None))
            caps: dict[str, Any] = {"max_per_window": most, "window_ms": window}
            new = NewQuota(id=name, max_concurrent=SLOTS.get(name), **caps)
            world.run(self.store.quotas.create(new))

    @property
    def tag(self) -> str:
        """The one partition of executions."""
        return self.world.tag

    @precondition(lambda self: len(self.ids) < MOST_EXECUTIONS)
    @rule(
        quotas=st.lists(st.sampled_from(QUOTAS), min_size=1, max_size=2, unique=True),
        deadline=st.sampled_from((None, None, None, 3_000)),
        plain=st.booleans(),
    )
    def submit(self, *, quotas: list[str], deadline: int | None, plain: bool) -> None:
        """New work under one or two quotas, of which nothing else may be particular."""
        item = NewExecution(
            kind="work",
            id=f"e{len(self.ids)}",
            quotas=tuple(quotas),
            deadline_ms=deadline,
            max_reclaims=1_000,
            retention_ms=None if plain else 10_000_000_000,
            retry=RetryPolicy(max_attempts=1_000, backoff=Backoff(kind="fixed", initial_ms=0)),
        )
        self.world.run(self.store.executions.create([item]))
        self.ids.append(f"e{len(self.ids)}")

    # A claim, call by call

    @rule(limit=st.integers(1, 4), as_before=st.sampled_from((False, False, True)))
    def take(self, *, limit: int, as_before: bool = False) -> None:
        """A worker claims, and gets grants, with leases unless it is of 0.2.0."""
        self.requests += 1
        asked = wanted(request=f"r{self.requests}", limit=limit, lease_ms=LEASE_MS)
        self._take(asked, as_before=as_before)

    @precondition(lambda self: self.under_way)
    @rule(index=indexes)
    def take_again(self, *, index: int) -> None:
        """Another process repeats a claim, and goes on with it beside the first."""
        self._take(self.under_way[index % len(self.under_way)].asked)

    def _take(self, asked: Wanted, *, as_before: bool = False) -> None:
        if as_before:
            claim = claim_as_before(self.store, self.tag, asked)
        else:
            claim = self.store.executions.claim(self.tag, asked)
        _, grants = self.world.run(claim)
        if grants:
            self.under_way.append(UnderWay(asked, grants))
            self.unasked.update(grant.claim.key for grant in grants if grant.claim)

    @precondition(lambda self: self.under_way)
    @rule(index=indexes)
    def go_on(self, *, index: int) -> None:
        """A worker asks the quotas, or activates what they have admitted."""
        claim = self.under_way[index % len(self.under_way)]
        if claim.held is None:
            ask = self.admission._ask(claim.grants)
            claim.held = self.world.run(ask)
            return
        held = claim.held
        leased = [g.claim for g in claim.grants if g.claim and g.execution_id not in held]
        self.claims += leased
        verdicts = [
            (grant, held.get(grant.execution_id))
            for grant in claim.grants
            if grant.claim is None or grant.execution_id in held
        ]
        if verdicts:
            activate = self.store.executions.activate(self.tag, claim.asked, verdicts)
            self.claims += self.world.run(activate)
        self.under_way.remove(claim)

    @precondition(lambda self: self.under_way)
    @rule(index=indexes)
    def die(self, *, index: int) -> None:
        """A worker dies in the middle of a claim."""
        self.under_way.pop(index % len(self.under_way))

    @rule(limit=st.integers(1, 4))
    def claim(self, *, limit: int) -> None:
        """A worker claims without being disturbed."""
        self.take(limit=limit)
        if self.under_way and self.under_way[-1].held is None:
            self.go_on(index=len(self.under_way) - 1)
            self.go_on(index=len(self.under_way) - 1)

    # The end of an attempt

    @precondition(lambda self: self.claims)
    @rule(index=indexes, how=st.sampled_from(("complete", "fail", "delay")))
    def end(self, *, index: int, how: str) -> None:
        """A holder ends its attempt, if it still holds the lease."""
        claim = self.claims.pop(index % len(self.claims))
        executions = self.store.executions
        calls: dict[str, Callable[[], Any]] = {
            "complete": lambda: executions.complete(claim.id, claim.lease, b"1"),
            "fail": lambda: executions.fail(claim.id, claim.lease, Failure(type="e", message="m")),
            "delay": lambda: executions.delay(claim.id, claim.lease, 700),
        }
        self._try(calls[how]())

    @precondition(lambda self: self.ids)
    @rule(index=indexes, how=st.sampled_from(("cancel", "revoke", "replay")))
    def operate(self, *, index: int, how: str) -> None:
        """An operator cancels, revokes or replays."""
        execution_id = self.ids[index % len(self.ids)]
        calls: dict[str, Callable[[], Any]] = {
            "cancel": lambda: self.store.executions.cancel(execution_id, ""),
            "revoke": lambda: self.store.leases.revoke(execution_id, ""),
            "replay": lambda: self.store.executions.replay(
                execution_id, keep_steps=False, from_step="", reason=""
            ),
        }
        self._try(calls[how]())

    def _try(self, call: Any) -> None:
        with contextlib.suppress(HoldfastError):
            self.world.run(call)

    # Messages and time

    @rule(clear=st.booleans(), index=indexes)
    def carry(self, *, clear: bool, index: int) -> None:
        """A courier carries what one partition has to tell; it may die before it says so."""
        tags = [self.tag, *self.store.limit_tags()]
        tag = tags[index % len(tags)]
        entries = self.world.run(self.store.outboxes.read(tag))
        if entries and clear:
            self.world.run(self.courier._carry(tag, entries))
        elif entries:
            words = [parse(entry) for entry in entries]
            wakes = [word for word in words if isinstance(word, WakeUp)]
            rest = [word for word in words if isinstance(word, Release)]
            self.world.run(self.courier._wake(wakes))
            self.world.run(self.courier._release(rest))

    @rule(ms=st.sampled_from((1, 400, 1_000, 5_000, 5_000, 9_000)), look=st.booleans())
    def pass_time(self, *, ms: int, look: bool) -> None:
        """Time passes, and somebody looks or not."""
        self.now += ms
        self.world.run(self.world.clock.set(self.now))
        if look:
            self.world.run(self.world.clock.tick())

    @precondition(lambda self: self.world.caller.calls)
    @rule(index=indexes)
    def send_again_late(self, *, index: int) -> None:
        """A copy of an admission or a release arrives much later."""
        names = ("hf_quota_admit", "hf_quota_release")
        calls = [call for call in self.world.caller.calls if call.function in names and call.answer]
        if calls:
            call = calls[-1 - index % min(len(calls), 8)]
            self.world.run(self.world.caller.send(call.function, call.tag, call.args))

    # After every rule

    def _running(self) -> dict[str, tuple[tuple[str, ...], int]]:
        """Return what runs: its quotas and its epoch."""
        found = {}
        for execution_id in self.ids:
            one = self.world.run(self.store.queries.describe(execution_id))
            if one.state is State.ACTIVE:
                found[execution_id] = (one.quotas, one.epoch)
        return found

    @invariant()
    def holds(self) -> None:
        """Whatever runs is held, under its epoch, and no limit is passed.

        What is leased may not have been asked about yet; what a worker has got was.
        """
        dump = self.world.dump()
        assert violations(dump, self.now) == []
        running = self._running()
        unasked = self.unasked - {claim.key for claim in self.claims}
        for name in QUOTAS:
            tag = self.store.quota_tag(name)
            held = {k.decode(): int(v) for k, v in dump.get(f"{tag}:held:{name}", {}).items()}
            promises = dump.get(f"{tag}:promises:{name}", {})
            live = sum(until > self.now for until in promises.values())
            waiting = dump.get(f"{tag}:wait:{name}", {})
            since = dump.get(f"{tag}:waits:{name}", {})
            assert not waiting.keys() & promises.keys(), name
            assert since.keys() == waiting.keys() | promises.keys(), name
            if name in SLOTS:
                assert len(held) + live <= SLOTS[name], name
            if name in RATES:
                most, window = RATES[name]
                starts = dump.get(f"{tag}:admissions:{name}", {}).values()
                assert sum(at > self.now - window for at in starts) <= most, name
            for execution_id, (quotas, epoch) in running.items():
                if name in quotas and (execution_id, epoch) not in unasked:
                    assert held.get(execution_id) == epoch, (name, execution_id)

    def teardown(self) -> None:
        """At rest, what is held is what runs, and nobody waits while there is room."""
        self.world.caller.lossy = False
        self.under_way.clear()
        for _ in range(3):
            self._rest(10_001)
        running = self._running()
        dump = self.world.dump()
        for name in QUOTAS:
            tag = self.store.quota_tag(name)
            held = {key.decode() for key in dump.get(f"{tag}:held:{name}", {})}
            assert held == {one for one, (quotas, _) in running.items() if name in quotas}, name
            promised = len(dump.get(f"{tag}:promises:{name}", {}))
            starts = len(dump.get(f"{tag}:admissions:{name}", {}))
            most, _ = RATES.get(name, (1_000, 0))
            if len(held) + promised < SLOTS.get(name, 1_000) and starts + promised < most:
                assert not dump.get(f"{tag}:wait:{name}"), name
        self._finish_all()

    def _rest(self, ms: int) -> None:
        self.now += ms
        self.world.run(self.world.clock.set(self.now))
        self.world.run(self.world.clock.tick())
        self.world.run(self.courier.carry_all())

    def _finish_all(self) -> None:
        """Everything that has not ended comes to its end, in a bounded number of rounds."""
        for _ in range(60):
            claims, _ = self.world.run(self.admission.claim(self.tag, wanted(limit=10)))
            for claim in claims:
                self.world.run(self.store.executions.complete(claim.id, claim.lease, b"1"))
            self._rest(1_001)
            states = [self.world.run(self.store.queries.describe(one)).state for one in self.ids]
            if all(state.is_terminal for state in states):
                break
        else:
            raise AssertionError(f"some are stuck: {states}")
        dump = self.world.dump()
        left = [key for key in dump if ":held:" in key or ":wait" in key or ":promises:" in key]
        assert left == []
