"""The rules of the state machine: random calls against a real store and the model at once.

The rules are few and broad: Hypothesis leaves some of them out in each run, and with a rule for
each verb most runs would lack what others need.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from holdfast.errors import HoldfastError
from holdfast.model import names
from holdfast.model.executions import Claim, Lease, NewExecution, Submitted
from holdfast.model.ids import id_of_key
from holdfast.model.states import State
from holdfast.testing.clock import START_MS
from tests.property import strategies as draw
from tests.property.comparing import ComparingMachine, Refused
from tests.property.model import Model, Run
from tests.property.world import Call, World, without_meta
from tests.support.invariants import violations
from tests.support.lifecycle import claim_ready

MOST_EXECUTIONS = 25
MOST_TICKS = 1000

Held = tuple[str, Lease]

#: Calls that end or start something, and must not do so again when they are sent again.
ONCE = frozenset(
    {
        *("hf_execution_complete_all", "hf_execution_fail", "hf_execution_delay"),
        *("hf_execution_cancel", "hf_execution_replay", "hf_lease_revoke"),
    }
)


class LifecycleMachine(ComparingMachine):
    """Every rule calls the store and the model alike, and compares their answers."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.model = Model(START_MS)
        #: Every lease ever handed out.
        self.leases: list[Held] = []
        #: How many calls there were when an execution was created. Its id may have been another's.
        self.first_calls: dict[str, int] = {}
        self.requests = 0
        self.last_dump: dict[str, Any] = world.dump()

    def _after_refusal(self) -> None:
        assert without_meta(self.world.dump()) == without_meta(self.last_dump)

    # Creating

    @initialize(batch=draw.beginnings)
    def begin(self, *, batch: list[NewExecution]) -> None:
        """Begin with some work."""
        self._create(batch)

    @precondition(lambda self: len(self.model.runs) < MOST_EXECUTIONS)
    @rule(batch=st.lists(draw.items, min_size=1, max_size=4), name_the_keyed=st.booleans())
    def create(self, *, batch: list[NewExecution], name_the_keyed: bool) -> None:
        """Create several at once, which may repeat or contradict each other."""
        first = batch[0]
        if first.idempotency_key is not None and name_the_keyed:
            own_id = f"own-{first.tenant}-{first.idempotency_key}"
            batch = [dataclasses.replace(first, id=own_id)]
        self._create(batch)

    @precondition(lambda self: len(self.model.runs) < MOST_EXECUTIONS)
    @rule(fields=draw.contents)
    def create_with_minted_id(self, *, fields: dict[str, Any]) -> None:
        """Create one that no later call can name."""
        # Jitter depends on the id, and runs must be repeatable.
        self._create([NewExecution(**{**fields, "retry": None})])

    def _create(self, batch: list[NewExecution]) -> None:
        batch = [item for item in batch if not self.model.is_dangling(item)]
        if self.world.caller.lossy:
            # A refusal is not remembered: sent again, an item may be refused for another reason,
            # because a later item of its batch has taken its id meanwhile.
            batch = list({item.id or item.idempotency_key: item for item in batch}.values())
        answers = self.world.run(self.store.executions.create(batch))
        dump = self.world.dump()
        for item, answer in zip(batch, answers, strict=True):
            execution_id = names.stored_id(item.tenant, item.id or "minted")
            if item.id is None and item.idempotency_key is not None:
                execution_id = id_of_key(item.tenant, item.idempotency_key)
            elif item.id is None and isinstance(answer, Submitted):
                execution_id = answer.id
            before = set(self.model.runs)
            expected: object
            try:
                expected = self.model.create(item, execution_id)
            except Refused as refusal:
                expected = refusal.code
            if isinstance(answer, HoldfastError):
                assert answer.code == expected
            else:
                assert (answer.id, answer.state, answer.duplicate) == expected
            for created in self.model.runs.keys() - before:
                self.first_calls[created] = len(self.world.caller.calls)
                self.model.set_birth(created, int(dump[f"{self.world.tag}:x:{created}"][b"born"]))

    # Claiming

    @rule(acts=st.lists(draw.acts, min_size=1, max_size=5), lease_ms=draw.lease_times)
    def work(self, *, acts: list[tuple[Any, ...]], lease_ms: int) -> None:
        """Claim with a worker that can do everything, and do something with each claim."""
        limit, before = len(acts), len(self.leases)
        self._claim("w0", lease_ms, limit, lanes=draw.LANES, capabilities=draw.CAPABILITIES)
        for held, act in zip(self.leases[before:], acts, strict=False):
            self.last_dump = self.world.dump()
            self._act(held, *act)

    @rule(
        worker=st.sampled_from(("w1", "w2", "w3")),
        lease_ms=draw.lease_times,
        limit=st.integers(1, 5),
        lanes=st.lists(draw.lanes, min_size=1, unique=True),
        capabilities=draw.capabilities,
        tenant=st.one_of(st.none(), draw.tenants),
        kinds=draw.worker_kinds,
    )
    def claim(self, *, worker: str, lease_ms: int, limit: int, **wanted: Any) -> None:
        """Claim with a worker that can do some of it."""
        self._claim(worker, lease_ms, limit, **wanted)

    def _claim(
        self,
        worker: str,
        lease_ms: int,
        limit: int,
        *,
        lanes: Sequence[str],
        capabilities: Sequence[str],
        tenant: str | None = None,
        kinds: Sequence[str] | None = None,
    ) -> None:
        """Nothing eligible is left out, and inside a tenant and lane the order is exact."""
        eligible = self.model.eligible(lanes, capabilities, tenant, kinds)
        self.requests += 1
        request = f"r{self.requests}"
        claims = self.world.run(
            claim_ready(
                self.store,
                self.world.tag,
                request=request,
                worker=worker,
                lanes=lanes,
                capabilities=capabilities,
                limit=limit,
                lease_ms=lease_ms,
                tenant=tenant,
                kinds=kinds,
            )
        )
        assert len(claims) == min(limit, sum(map(len, eligible.values())))
        taken: dict[Any, list[str]] = {}
        for claim in claims:
            taken.setdefault(self.model.runs[claim.id].group, []).append(claim.id)
        for group, got in taken.items():
            assert got == eligible[group][: len(got)], f"out of order in {group}"
        for claim in claims:
            lease = self.model.claim(claim.id, request, worker, lease_ms)
            self._check_claim(claim, lease)
            self.leases.append((claim.id, lease))

    def _check_claim(self, claim: Claim, lease: Lease) -> None:
        run = self.model.runs[claim.id]
        known = run.described()
        expected = {
            "tenant": known.tenant,
            "lane": known.lane,
            "kind": known.kind,
            "input": run.item.input,
            "lease": lease,
            "expires_at": known.lease_expires_at,
            "attempt_kind": known.attempt_kind,
            "priority": known.priority,
            "requires": known.requires,
            "tags": known.tags,
            "created_at": known.created_at,
            "deadline_at": known.deadline_at,
            "timeout_at": known.timeout_at,
            "steps": run.steps,
        }
        assert {name: getattr(claim, name) for name in expected} == expected

    # What holders do

    def _held(self, *, live: bool) -> list[Held]:
        return [held for held in self.leases if self.model.is_live(*held) == live]

    @precondition(lambda self: self._held(live=True))
    @rule(index=draw.indexes, acts=st.lists(draw.acts, min_size=1, max_size=3))
    def act(self, *, index: int, acts: list[tuple[Any, ...]]) -> None:
        """A holder does something, and perhaps more, even if it should have stopped."""
        held = self._held(live=True)
        for act in acts:
            self.last_dump = self.world.dump()
            self._act(held[index % len(held)], *act)

    @precondition(lambda self: self._held(live=False))
    @rule(index=draw.indexes, act=draw.acts)
    def act_with_a_stale_lease(self, *, index: int, act: tuple[Any, ...]) -> None:
        """A former holder does something: it is refused, or gets its own first answer."""
        held = self._held(live=False)
        self._act(held[-1 - index % len(held)], *act)
        self._after_refusal()

    def _act(self, held: Held, verb: str, *args: Any) -> None:
        done = self.model.answered(verb, *held)
        calls: dict[str, Callable[..., Coroutine[Any, Any, Any]]] = {
            "renew": self._renew,
            "complete": self.store.executions.complete,
            "fail": self.store.executions.fail,
            "delay": self.store.executions.delay,
            "checkpoint": self.store.executions.checkpoint,
            "progress": self.store.executions.progress,
        }
        expect = getattr(self.model, verb)
        self._agree(calls[verb](*held, *args), lambda: done[0] if done else expect(*held, *args))

    async def _renew(self, execution_id: str, lease: Lease, lease_ms: int) -> Any:
        (answer,) = await self.store.leases.renew([(execution_id, lease)], lease_ms)
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    # What operators do

    @precondition(lambda self: self.model.runs)
    @rule(index=draw.indexes, operation=draw.operations, anything=st.booleans())
    def operate(self, *, index: int, operation: tuple[Any, ...], anything: bool) -> None:
        """Do something to an execution that it fits, or to any."""
        verb, *args = operation
        fitting = {"revoke": [State.ACTIVE], "replay": [s for s in State if s.is_terminal]}
        chosen = self.model.ids(None if anything else fitting.get(verb)) or ["nobody"]
        getattr(self, f"_{verb}")(chosen[index % len(chosen)], *args)

    def _cancel(self, execution_id: str, reason: str) -> None:
        self._agree(
            self.store.executions.cancel(execution_id, reason),
            lambda: self.model.cancel(execution_id, reason),
        )

    def _revoke(self, execution_id: str) -> None:
        self._agree(
            self.store.leases.revoke(execution_id, "operator"),
            lambda: self.model.revoke(execution_id),
        )

    def _replay(self, execution_id: str, keep_steps: bool, from_step: str) -> None:
        choice: dict[str, Any] = {"keep_steps": keep_steps, "from_step": from_step}
        if keep_steps:
            choice["from_step"] = ""
        self._agree(
            self.store.executions.replay(execution_id, reason="again", **choice),
            lambda: self.model.replay(execution_id, **choice),
        )

    def _prioritize(self, execution_id: str, priority: int) -> None:
        self._agree(
            self.store.executions.prioritize(execution_id, priority),
            lambda: self.model.prioritize(execution_id, priority),
        )

    @rule(configuration=draw.configurations)
    def configure(self, *, configuration: tuple[Any, ...]) -> None:
        """Change a lane, how long things are kept, or a tenant's share."""
        what, *args = configuration
        if what == "lane":
            lane, state = args
            self.world.run(self.store.lanes.set_state(lane, state))
            self.model.lanes[lane] = state
        elif what == "retention":
            tenant, state, keep_ms = args
            self.world.run(self.store.lanes.set_retention(tenant, {state: keep_ms}))
            self.model.keep[tenant, state] = keep_ms
        else:
            lane, tenant, weight = args
            self.world.run(self.store.lanes.set_weights(lane, {tenant: weight}))

    # Time

    @rule(ms=draw.times, limit=st.sampled_from((0, 1, 2, None, None)))
    def pass_time(self, *, ms: int, limit: int | None) -> None:
        """Time passes; nobody looks, or some of what is due fires, or all of it."""
        self.model.now += ms
        self.world.run(self.world.clock.set(self.model.now))
        if limit is None:
            fired = self.world.run(self.world.clock.advance_and_tick(0))
            expected, more = 0, 1
            while more:
                more = self.model.tick(MOST_TICKS)
                expected += more
            assert fired == expected
        elif limit:
            fired, _ = self.world.run(self.store.timers.tick(self.world.tag, limit))
            assert fired == self.model.tick(limit)

    # Replies that were lost much earlier

    @precondition(lambda self: self.world.caller.calls)
    @rule(index=draw.indexes)
    def send_again_late(self, *, index: int) -> None:
        """Whatever happened since, a call that had happened does not happen again."""
        calls = enumerate(self.world.caller.calls)
        done = [call for number, call in calls if call.answer and self._is_once(number, call)]
        if not done:
            return
        call = done[-1 - index % len(done)]
        again = self.world.run(self.world.caller.send(call.function, call.tag, call.args))
        self._after_refusal()
        if call.function == "hf_execution_claim_many":
            assert [row[0].decode() for row in again.answer or ()] == self._still_held(call)
        elif call.args[0] in self.model.runs:
            assert again.answer == call.answer

    def _is_once(self, number: int, call: Call) -> bool:
        if call.function == "hf_execution_claim_many":
            return True
        return call.function in ONCE and number >= self.first_calls.get(str(call.args[0]), 0)

    def _still_held(self, call: Call) -> list[str]:
        """Return what a repeated claim must return: its leases that nobody ended."""
        return [
            execution_id
            for execution_id, lease in self.leases
            if lease.id == call.args[0]
            and (run := self.model.runs.get(execution_id))
            and run.state is State.ACTIVE
            and run.fence == lease.fence
        ]

    # After every rule

    @invariant()
    def holds(self) -> None:
        """Check everything that must hold at any time."""
        dump = self.world.dump()
        assert violations(dump, self.model.now) == []
        self._check_passes(dump)
        self.last_dump = dump
        self.world.run(self._compare())

    def _check_passes(self, dump: dict[str, Any]) -> None:
        """A tenant's virtual time never runs backwards while its lane has work."""
        for lane in draw.LANES:
            key = f"{self.world.tag}:pass:{lane}"
            passes = dump.get(key, {})
            before = self.last_dump.get(key, {}) if passes else {}
            for tenant, value in before.items():
                assert float(passes.get(tenant, 0)) >= float(value), f"{lane}: {tenant!r}"

    async def _compare(self) -> None:
        queries = self.store.queries
        counts = await queries.count(None)
        found = {(c.tenant, c.lane, c.kind, c.state.value): c.count for c in counts}
        assert found == dict(self.model.counts())
        runs = list(self.model.runs.values())
        # All at once: they go out as one batch.
        described = await asyncio.gather(*(queries.describe(run.id) for run in runs))
        journals = await asyncio.gather(*(queries.steps(run.id) for run in runs))
        for run, actual, journal in zip(runs, described, journals, strict=True):
            error_type = actual.error["type"] if actual.error else None
            assert dataclasses.replace(actual, error=None) == run.described()
            assert error_type == run.error_type
            assert [(step.name, step.result) for step in journal] == list(run.steps.items())
            self._check_stored(run)

    def _check_stored(self, run: Run) -> None:
        """Check what no reader is told: who may still act, and the bytes of the result."""
        record = self.last_dump[f"{self.world.tag}:x:{run.id}"]
        assert record.get(b"fence") == (run.fence and run.fence.encode())
        outside = self.last_dump.get(f"{self.world.tag}:r:{run.id}")
        assert record.get(b"result", outside) == run.result
