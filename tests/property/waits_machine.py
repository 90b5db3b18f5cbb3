"""The rules of the state machine of waiting: a real store and the model at once.

After every rule the stored data is checked from outside, and what readers are told is compared.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from holdfast.model import conditions
from holdfast.model.executions import Claim, Lease, NewExecution, Submitted
from holdfast.model.waitpoints import NewSignal, NewWaitpoint
from holdfast.store.waitpoints import Sender
from holdfast.testing.clock import START_MS
from tests.property.comparing import ComparingMachine
from tests.property.waits_model import KEEP_MS, Model, payload_of
from tests.property.world import World, without_meta
from tests.support.invariants import violations
from tests.support.lifecycle import claim_ready
from tests.support.waits import send_item, source_of

MOST_EXECUTIONS = 8
MOST_TICKS = 1000
NAMES = ("a", "b", "c")
#: Calls that must not happen again when they are sent again late.
ONCE = frozenset(
    {
        *("hf_waitpoint_suspend", "hf_waitpoint_signal", "hf_waitpoint_resume"),
        *("hf_execution_complete_all", "hf_execution_cancel"),
    }
)

indexes = st.integers(0, 30)
signal_names = st.sampled_from(("yes", "no", "yes-but"))
people = st.sampled_from(("ann", "bob", ""))
payloads = st.sampled_from((1, 5, None))
spans = st.sampled_from((1, 500, 1_000, 5_000, 60_000))


def _leaves(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"waitpoint": st.sampled_from(names)},
        optional={
            "signal": st.sampled_from(("yes", "yes*", ["no", "yes"], "*")),
            "where": st.sampled_from(("payload > 3", "source.identity == 'ann'", "name != 'no'")),
        },
    )


def conditions_over(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw conditions of every form."""
    times = st.one_of(
        st.fixed_dictionaries({"after_ms": spans}),
        spans.map(lambda ms: {"not_before": f"2026-01-01T00:{ms // 1000 // 60:02}:05+00:00"}),
    )

    def groups(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(children, min_size=1, max_size=3)
        return st.one_of(
            st.fixed_dictionaries({"all": lists}),
            st.fixed_dictionaries({"any": lists}),
            lists.flatmap(
                lambda of: st.fixed_dictionaries(
                    {"count": st.integers(1, len(of)), "of": st.just(of)}
                )
            ),
            st.fixed_dictionaries(
                {
                    "count": st.integers(1, 3),
                    "distinct": st.sampled_from(("signals", "sources")),
                    "of": lists,
                }
            ),
            _leaves(names).map(lambda leaf: {"count": 1, "distinct": "waitpoints", "of": [leaf]}),
        )

    return st.recursive(st.one_of(_leaves(names), _leaves(names), times), groups, max_leaves=5)


@st.composite
def waits(draw: st.DrawFn) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Draw some names, and a condition over them."""
    names = tuple(draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)))
    return names, draw(conditions_over(names))


#: What a holder does: prepare, get early answers, wait; each may be absent.
Plan = dict[str, Any]

answers = st.fixed_dictionaries(
    {
        "index": indexes,
        "any_point": st.sampled_from((False, False, False, True)),
        "name": signal_names,
        "by": people,
        "payload": payloads,
        "key": st.sampled_from(("k1", "k2", None, None, None)),
        "token": st.sampled_from(("none", "good", "good", "good", "bad")),
    }
)


def plans() -> st.SearchStrategy[Plan]:
    """Draw what a holder does."""
    prepared = st.fixed_dictionaries(
        {
            "names": st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
            "fresh": st.booleans(),
            "expires_ms": st.sampled_from((None, None, 500, 5_000)),
            "uses": st.sampled_from((None, None, 1, 2)),
        }
    )
    wait = st.fixed_dictionaries(
        {
            "wait": waits(),
            "key": st.sampled_from(("w1", "w2", "")),
            "timeout_ms": st.one_of(st.none(), spans),
            "on_timeout": st.sampled_from(("fail", "cancel", "expire", "resume", "escalate")),
        }
    )
    return st.fixed_dictionaries(
        {
            "prepared": st.one_of(st.none(), prepared),
            "early": st.lists(answers, max_size=2),
            "wait": st.one_of(st.none(), wait, wait, wait),
        }
    )


class WaitsMachine(ComparingMachine):
    """Every rule calls the store and the model alike, and compares their answers."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.model = Model(START_MS)
        self.created = 0
        self.requests = 0
        self.leases: list[tuple[str, Lease]] = []
        #: Every waitpoint ever made: execution, number, and its mint time.
        self.points: list[tuple[str, int, int]] = []
        self.last_dump: dict[str, Any] = world.dump()

    # Creating and claiming

    @initialize(plans=st.lists(plans(), min_size=2, max_size=3))
    def begin(self, *, plans: list[Plan]) -> None:
        """Begin with some executions that wait."""
        for _ in plans:
            self._create(None)
        self._work(plans, 60_000)

    @rule(
        plans=st.lists(plans(), min_size=1, max_size=3),
        deadline_ms=st.sampled_from((None, None, 2_000, 90_000)),
        lease_ms=st.sampled_from((1_000, 5_000, 60_000)),
        lossy=st.booleans(),
    )
    def work(
        self, *, plans: list[Plan], deadline_ms: int | None, lease_ms: int, lossy: bool
    ) -> None:
        """Claim all there is and let it wait. From now on replies are lost, or no longer."""
        self.world.caller.lossy = lossy
        if len(self.model.runs) < MOST_EXECUTIONS:
            self._create(deadline_ms)
        self._work(plans, lease_ms)

    def _work(self, plans: list[Plan], lease_ms: int) -> None:
        before = len(self.leases)
        self._claim(lease_ms)
        for held, plan in zip(self.leases[before:], plans, strict=False):
            self._follow(held, plan)

    def _follow(self, held: tuple[str, Lease], plan: Plan) -> None:
        """Prepare, be answered early, and wait: all of it or some."""
        if plan["prepared"]:
            self._prepare_all(held, **plan["prepared"])
            for answer in plan["early"]:
                self._answer(**answer)
        if plan["wait"]:
            self._wait(held, **plan["wait"])

    def _create(self, deadline_ms: int | None) -> None:
        execution_id = f"e{self.created}"
        self.created += 1
        item = NewExecution(
            kind="work", id=execution_id, deadline_ms=deadline_ms, retention_ms=KEEP_MS
        )
        (answer,) = self.world.run(self.store.executions.create([item]))
        assert isinstance(answer, Submitted)
        self.model.create(execution_id, deadline_ms)

    def _claim(self, lease_ms: int) -> None:
        self.requests += 1
        request = f"r{self.requests}"
        claims: list[Claim] = self.world.run(
            claim_ready(
                self.store,
                self.world.tag,
                request=request,
                worker="w",
                lanes=["default"],
                capabilities=[],
                limit=50,
                lease_ms=lease_ms,
            )
        )
        assert {claim.id for claim in claims} == self.model.claimable()
        for claim in claims:
            lease = self.model.claim(claim.id, request, lease_ms)
            assert claim.lease == lease
            run = self.model.runs[claim.id]
            key = run.wait.key if run.resumed and run.wait else None
            assert claim.resumed == key
            names = [signal.name for signal in claim.signals]
            assert names == (self.model.delivered(run) if key else [])
            self.leases.append((claim.id, lease))

    # What holders do

    def _lease(self, index: int, *, stale: bool) -> tuple[str, Lease]:
        live = [held for held in self.leases if self.model.is_live(*held)]
        chosen = self.leases if stale or not live else live
        return chosen[-1 - index % len(chosen)]

    def _prepare_all(
        self, held: tuple[str, Lease], *, names: list[str], fresh: bool, **options: Any
    ) -> None:
        """Make waitpoints, under keys that may be known."""
        suffix = f"-{self.requests}-{len(self.points)}" if fresh else ""
        items = [NewWaitpoint(name=name, key=f"{name}{suffix}", **options) for name in names]
        answer = self._agree(self._prepare(held, items), lambda: self.model.prepare(*held, items))
        if isinstance(answer, list):
            self._learn_points(held[0])

    async def _prepare(
        self, held: tuple[str, Lease], items: list[NewWaitpoint]
    ) -> list[tuple[int, str]]:
        points = await self.store.waitpoints.prepare(held[0], held[1].fence, items)
        return [(int(point.id.rpartition("~w")[2]), point.name) for point in points]

    def _learn_points(self, execution_id: str) -> None:
        known = {(owner, number) for owner, number, _ in self.points}
        for number, point in enumerate(self.model.runs[execution_id].points, 1):
            if (execution_id, number) not in known:
                self.points.append((execution_id, number, point.made))

    def _wait(
        self,
        held: tuple[str, Lease],
        *,
        wait: tuple[tuple[str, ...], dict[str, Any]],
        key: str,
        **options: Any,
    ) -> None:
        """Wait, for what may have come already."""
        if not self.model.is_live(*held) and held[0] in self.model.runs:
            # It may have suspended before, then it gets the first answer: see `send_again_late`.
            return
        names, condition = wait
        items = [NewWaitpoint(name=name) for name in names]
        parsed = conditions.parse(condition, names)
        self.requests += 1
        options["key"] = key or f"w-{self.requests}"
        answer = self._agree(
            self._suspend(held, items, parsed, **options),
            lambda: self.model.suspend(*held, items, parsed, **options),
        )
        if isinstance(answer, tuple):
            self._learn_points(held[0])

    async def _suspend(
        self, held: tuple[str, Lease], items: list[NewWaitpoint], parsed: Any, **options: Any
    ) -> tuple[str, list[int], list[str]]:
        answer = await self.store.waitpoints.suspend(
            held[0],
            held[1].fence,
            items,
            parsed,
            names=[item.name for item in items],
            reason="signal",
            **options,
        )
        numbers = [int(point.id.rpartition("~w")[2]) for point in answer.waitpoints]
        return answer.state.value, numbers, [signal.name for signal in answer.signals]

    @precondition(lambda self: self.leases)
    @rule(index=indexes, stale=st.booleans(), plan=plans(), complete=st.booleans())
    def act(self, *, index: int, stale: bool, plan: Plan, complete: bool) -> None:
        """A holder, or a former one, makes more waitpoints, waits, or is done."""
        live = [held for held in self.leases if self.model.is_live(*held)]
        chosen = self.leases if stale or not live else live
        held = chosen[-1 - index % len(chosen)]
        self._follow(held, plan)
        if complete and self.model.is_live(*held):
            self._agree(
                self.store.executions.complete(*held, b"1"), lambda: self.model.complete(*held)
            )

    # What others do

    @precondition(lambda self: self.points)
    @rule(several=st.lists(answers, min_size=1, max_size=5))
    def answer(self, *, several: list[dict[str, Any]]) -> None:
        """People answer, perhaps late, perhaps again, perhaps with a wrong token."""
        for one in several:
            self._answer(**one)

    def _answer(
        self,
        *,
        index: int,
        any_point: bool,
        name: str,
        by: str,
        payload: Any,
        key: str | None,
        token: str,
    ) -> None:
        living = [
            (owner, number, made)
            for owner, number, made in self.points
            if owner in self.model.runs
            and self.model.runs[owner].points[number - 1].state != "closed"
        ]
        chosen = self.points if any_point or not living else living
        if not chosen:
            return
        execution_id, number, made = chosen[-1 - index % len(chosen)]
        self.requests += 1
        key = key or f"k-{self.requests}"
        sender = {"none": None, "good": made, "bad": made + 1}[token]
        item = NewSignal(
            waitpoint=f"{execution_id}~w{number}",
            name=name,
            payload=payload_of(payload),
            source=source_of(by),
            idempotency_key=key,
        )

        def expect() -> str:
            place = (execution_id, number)
            return self.model.signal(place, name, by=by, payload=payload, key=key, made=sender)

        self._agree(send_item(self.store, item, Sender(made_ms=sender)), expect)

    @precondition(lambda self: self.points)
    @rule(index=indexes, operation=st.sampled_from(("cancel", "resume", "resume", "revoke")))
    def operate(self, *, index: int, operation: str) -> None:
        """An operator ends a wait, an execution or a waitpoint."""
        execution_id, number, _ = self.points[-1 - index % len(self.points)]
        if operation == "revoke":
            self._agree(
                self.store.waitpoints.revoke(execution_id, number),
                lambda: self.model.revoke((execution_id, number)),
            )
        elif operation == "cancel":
            self._agree(
                self.store.executions.cancel(execution_id, ""),
                lambda: self.model.cancel(execution_id),
            )
        else:
            self._agree(
                self.store.waitpoints.resume(execution_id, b"null", ""),
                lambda: self.model.resume(execution_id),
            )

    # Time and lost replies

    @rule(ms=spans, limit=st.sampled_from((0, 1, 2, None, None)))
    def pass_time(self, *, ms: int, limit: int | None) -> None:
        """Time passes; nobody looks, or some of what is due fires, or all of it."""
        self.model.now += ms
        self.world.run(self.world.clock.set(self.model.now))
        if limit is None:
            fired = self.world.run(self.world.clock.tick())
            expected, more = 0, 1
            while more:
                more = self.model.tick(MOST_TICKS)
                expected += more
            assert fired == expected
        elif limit:
            fired, _ = self.world.run(self.store.timers.tick(self.world.tag, limit))
            assert fired == self.model.tick(limit)

    @precondition(lambda self: self.world.caller.calls)
    @rule(index=indexes)
    def send_again_late(self, *, index: int) -> None:
        """Whatever happened since, a call that had happened does not happen again."""
        done = [
            call
            for call in self.world.caller.calls
            if call.answer
            and call.function in ONCE
            and call.answer[0] != b"check"
            and str(call.args[0]) in self.model.runs
            and not self._fires_what_is_due(str(call.args[0]))
        ]
        if not done:
            return
        call = done[-1 - index % len(done)]
        before = without_meta(self.world.dump())
        again = self.world.run(self.world.caller.send(call.function, call.tag, call.args))
        assert without_meta(self.world.dump()) == before
        if call.function == "hf_waitpoint_signal":
            # One that was held has been counted, or not, when the wait began.
            first = call.answer or []
            later = {b"appended", b"ignored", b"duplicate"} if first[0] == b"buffered" else set()
            assert (again.answer or [])[0] in {first[0], *later}
        elif call.function == "hf_waitpoint_suspend":
            self._check_suspended_again(call.answer, again.answer)
        else:
            assert again.answer == call.answer

    @staticmethod
    def _check_suspended_again(first: list[Any] | None, again: list[Any] | None) -> None:
        """The first answer, or a refusal if its attempt is over; waitpoints may have closed."""
        assert first
        if first[0] == b"suspended":
            assert again
            assert [row[0] for row in again[2:]] == [row[0] for row in first[2:]]

    def _fires_what_is_due(self, execution_id: str) -> bool:
        run = self.model.runs[execution_id]
        return run.state == "suspended" and run.timer is not None and run.timer <= self.model.now

    # After every rule

    @invariant()
    def holds(self) -> None:
        """Check everything that must hold at any time."""
        dump = self.world.dump()
        assert violations(dump, self.model.now) == []
        self.last_dump = dump
        self.world.run(self._compare())

    async def _compare(self) -> None:
        runs = list(self.model.runs.values())
        described = await asyncio.gather(*(self.store.queries.describe(run.id) for run in runs))
        points = await asyncio.gather(*(self.store.waitpoints.of(run.id) for run in runs))
        signals = await asyncio.gather(*(self.store.waitpoints.signals(run.id) for run in runs))
        for run, found, (listed, wait), sent in zip(runs, described, points, signals, strict=True):
            assert (found.state.value, found.attempts, found.epoch) == (
                run.state,
                run.attempts,
                run.epoch,
            )
            assert [(p.name, p.state.value, p.why) for p in listed] == [
                (p.name, p.state, p.why) for p in run.points
            ]
            assert [(s.name, s.effect.value) for s in sent] == [
                (s.name, s.effect) for s in run.signals
            ]
            assert (wait is not None) == (run.state == "suspended")
        inbox = [item.waitpoint.id for _, item in await self.store.waitpoints.inbox(None, 0, 999)]
        assert sorted(inbox) == sorted(
            f"{run.id}~w{number}"
            for run in runs
            for number, point in enumerate(run.points, 1)
            if point.state != "closed"
        )
