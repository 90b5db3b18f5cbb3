"""hf_waitpoint_suspend: the wait begins, and how the attempt goes on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from holdfast.errors import NotActive, TooManyWaitpoints, WaitpointClosed, WaitpointNotFound
from holdfast.model import conditions
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.model.waitpoints import WAIT_REASONS, Effect, NewWaitpoint, WaitpointState
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.briefs import plant
from tests.support.invariants import violations
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_in,
    claim_one,
    create_one,
    lose_lease,
    refused,
    state_of,
)
from tests.support.waits import (
    effects_of,
    events_of,
    names_of,
    point_of,
    prepare,
    prepare_one,
    record_calls,
    run_one,
    send,
    suspend,
    suspend_one,
)

ONCE_MORE = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))


async def test_the_lease_is_given_back_and_the_attempt_goes_on(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """No worker holds it while it waits; a resume is not a retry."""
    first = await run_one(store)
    answer = await suspend(store, first, "gate", key="wait-1")
    assert (answer.state, answer.signals) == (State.SUSPENDED, ())
    (point,) = answer.waitpoints
    assert (point.id, point.state) == (f"{first.id}~w1", WaitpointState.OPEN)
    found = await store.queries.describe(first.id)
    assert (found.state, found.hold, found.attempt_open) == (State.SUSPENDED, Hold.SIGNAL, True)
    assert (found.lease_expires_at, found.worker) == (None, None)
    assert await claim_in(store, store.tag_of(first.id)) == []
    assert violations(dump(), clock.now_ms) == []

    assert await send(store, point, payload=b'{"n":1}') is Effect.RESUMED
    assert violations(dump(), clock.now_ms) == []
    second = await claim_one(store, first.id)
    assert (second.lease.attempt, second.lease.epoch) == (0, 2)
    assert second.attempt_kind is AttemptKind.INITIAL
    assert (second.resumed, second.signals[0].value) == ("wait-1", {"n": 1})
    assert await events_of(store, first.id) == [
        *("created", "claimed", "suspended", "woken", "resumed"),
    ]
    _, *events = await store.queries.history(first.id)
    assert {event.data["attempt"] for event in events} == {0}
    (attempt,) = await store.queries.attempts(first.id)
    assert (attempt.index, attempt.outcome) == (0, None)


async def test_a_claim_without_a_wait_has_no_signals(store: Store) -> None:
    """Most claims are of that kind."""
    claim = await run_one(store)
    assert (claim.resumed, claim.signals) == (None, ())


@pytest.mark.parametrize("reason", WAIT_REASONS)
async def test_the_reason_is_what_holds_it(store: Store, dump: Dump, reason: str) -> None:
    """People see what it waits for."""
    claim, _ = await suspend_one(store, reason=reason)
    assert (await store.queries.describe(claim.id)).hold == Hold(reason)
    assert violations(dump()) == []


async def test_a_wait_uses_up_no_retry_and_no_lease_runs_out(store: Store, clock: Clock) -> None:
    """However long it takes."""
    claim = await run_one(store, retry=ONCE_MORE)
    for _ in range(3):
        answer = await suspend(store, claim, "gate")
        await clock.advance_and_tick(86_400_000)
        assert await state_of(store, claim.id) is State.SUSPENDED
        await send(store, answer.waitpoints[0])
        claim = await claim_one(store, claim.id)
    found = await store.queries.describe(claim.id)
    assert (found.attempts, found.failures, found.reclaims) == (1, 0, 0)
    answered = await store.executions.fail(claim.id, claim.lease, Failure(type="e", message="m"))
    assert answered[0] is State.WAITING


async def test_steps_survive_a_wait(store: Store) -> None:
    """The journal is there when the attempt goes on."""
    claim = await run_one(store)
    await store.executions.checkpoint(claim.id, claim.lease, "s", b"1")
    answer = await suspend(store, claim, "gate")
    await send(store, answer.waitpoints[0])
    assert (await claim_one(store, claim.id)).steps == {"s": b"1"}


async def test_an_attempt_timeout_pauses_during_a_wait(store: Store, clock: Clock) -> None:
    """Of ten seconds, four are used before the wait, so six are left after it."""
    first = await run_one(store, attempt_timeout_ms=10_000)
    await clock.advance_and_tick(4_000)
    answer = await suspend(store, first, "gate")
    assert (await store.queries.describe(first.id)).timeout_at is None
    await clock.advance_and_tick(60_000)
    await send(store, answer.waitpoints[0])
    await clock.advance_and_tick(60_000)
    second = await claim_one(store, first.id)
    assert second.timeout_at == from_ms(clock.now_ms + 6_000)
    await clock.advance_and_tick(5_999)
    assert await state_of(store, first.id) is State.ACTIVE
    await clock.advance_and_tick(1)
    assert await state_of(store, first.id) is State.FAILED


async def test_a_deadline_passes_while_it_is_suspended(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A wait does not outlive the deadline, and its waitpoints end with it."""
    claim, (point,) = await suspend_one(store, timeout_ms=9_000, fields={"deadline_ms": 3_000})
    await clock.advance_and_tick(2_999)
    assert await state_of(store, claim.id) is State.SUSPENDED
    await clock.advance_and_tick(1)
    assert await state_of(store, claim.id) is State.EXPIRED
    assert (await point_of(store, point)).why == "ended"
    await refused(send(store, point), WaitpointClosed, dump, id=point.id, why="ended")
    assert violations(dump(), clock.now_ms) == []


async def test_it_can_be_cancelled_while_it_is_suspended(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Nothing of the wait is left to fire."""
    claim = await run_one(store)
    timed = NewWaitpoint(name="gate", expires_ms=7_000, key="k")
    answer = await suspend(store, claim, timed, "other", timeout_ms=5_000)
    await store.executions.cancel(claim.id, "enough")
    assert await state_of(store, claim.id) is State.CANCELLED
    for point in answer.waitpoints:
        assert (await point_of(store, point)).why == "ended"
        await refused(send(store, point), WaitpointClosed, dump, id=point.id, why="ended")
    assert violations(dump(), clock.now_ms) == []
    assert await clock.advance_and_tick(7_000) == 0
    (attempt,) = await store.queries.attempts(claim.id)
    assert attempt.outcome == "cancelled"


async def test_retention_removes_all_of_it(store: Store, clock: Clock, dump: Dump) -> None:
    """No key of an execution, its waits or its signals is left."""
    empty = set(dump())
    claim = await run_one(store, retention_ms=1_000, tenant="acme")
    early = await prepare_one(store, claim, "early", expires_ms=60_000)
    await send(store, early, payload=b'"%s"' % (b"x" * 100))
    answer = await suspend(store, claim, "gate", timeout_ms=9_000)
    await send(store, answer.waitpoints[0], payload=b'"%s"' % (b"x" * 100))
    claim = await claim_one(store, claim.id)
    await suspend(store, claim, "again")
    await store.executions.cancel(claim.id, "")
    assert {key.split("}:")[1].split(":")[0] for key in dump()} >= {"p", "y", "z", "k"}
    await clock.advance_and_tick(1_000)
    assert [key for key in set(dump()) - empty if not key.endswith("}:meta")] == []


async def test_a_replay_waits_anew(store: Store, dump: Dump) -> None:
    """What an earlier run was told does not count for the next one."""
    claim, (point,) = await suspend_one(store, key="w")
    await send(store, point)
    claim = await claim_one(store, claim.id)
    await store.executions.complete(claim.id, claim.lease, b"1")
    await store.executions.replay(claim.id, keep_steps=False, from_step="", reason="")
    claim = await claim_one(store, claim.id)
    assert (claim.resumed, claim.signals) == (None, ())
    answer = await suspend(store, claim, "gate", key="w")
    assert (answer.state, answer.waitpoints[0].id) == (State.SUSPENDED, f"{claim.id}~w2")
    await send(store, answer.waitpoints[0], "second")
    assert names_of((await claim_one(store, claim.id)).signals) == ["second"]
    assert violations(dump()) == []


async def test_a_new_attempt_after_a_resume_gets_the_signals_again(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Whether its worker was lost or it failed: it asks again under the same key."""
    execution_id = await create_one(store, retry=ONCE_MORE)
    claim = await claim_one(store, execution_id)
    answer = await suspend(store, claim, "gate", key="w")
    await send(store, answer.waitpoints[0], "yes")
    await claim_one(store, execution_id)
    await clock.advance_and_tick(30_000)
    claim = await claim_one(store, execution_id)
    assert (claim.lease.attempt, claim.resumed) == (1, "w")
    await store.executions.fail(claim.id, claim.lease, Failure(type="e", message="m"))
    claim = await claim_one(store, execution_id)
    assert (claim.lease.attempt, claim.resumed, names_of(claim.signals)) == (2, "w", ["yes"])
    before = dump()
    answer = await suspend(store, claim, "gate", key="w")
    assert (answer.state, names_of(answer.signals)) == (State.ACTIVE, ["yes"])
    assert dump() == before


async def test_the_next_wait_does_not_get_the_signals_of_the_last(store: Store) -> None:
    """Each wait has its own."""
    claim, (point,) = await suspend_one(store, key="w1")
    await send(store, point, "first")
    claim = await claim_one(store, claim.id)
    answer = await suspend(store, claim, "gate", key="w2")
    assert answer.state is State.SUSPENDED
    await send(store, answer.waitpoints[0], "second")
    claim = await claim_one(store, claim.id)
    assert (claim.resumed, names_of(claim.signals)) == ("w2", ["second"])


# Early signals


async def test_a_wait_that_is_fulfilled_already_keeps_the_lease(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The worker goes on at once."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    assert await send(store, point, "go", by="ann") is Effect.BUFFERED
    answer = await suspend(store, claim, point, key="w", timeout_ms=5_000)
    assert (answer.state, names_of(answer.signals)) == (State.ACTIVE, ["go"])
    assert answer.waitpoints[0].why == "resumed"
    assert await effects_of(store, claim.id) == [("go", "appended")]
    assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(5_000)
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert violations(dump(), clock.now_ms) == []


async def test_early_signals_count_for_a_composite_condition(store: Store, dump: Dump) -> None:
    """One came early, the other comes during the wait; each part has its own."""
    claim = await run_one(store)
    a, b = await prepare(store, claim, "a", "b")
    await send(store, a, "yes", by="ann")
    condition = {
        "all": [
            {"any": [{"waitpoint": "a", "signal": "yes"}, {"waitpoint": "b", "signal": "veto"}]},
            {"count": 2, "distinct": "sources", "of": [{"waitpoint": "a"}, {"waitpoint": "b"}]},
        ]
    }
    answer = await suspend(store, claim, a, b, condition=condition)
    assert answer.state is State.SUSPENDED
    assert violations(dump()) == []
    assert await send(store, b, "yes", by="ann") is Effect.APPENDED
    assert await send(store, b, "yes", by="bob") is Effect.RESUMED
    assert len((await claim_one(store, claim.id)).signals) == 3


async def test_early_signals_that_nobody_wants_are_ignored(store: Store) -> None:
    """By name."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    await send(store, point, "other")
    condition = {"waitpoint": "gate", "signal": "go"}
    answer = await suspend(store, claim, point, condition=condition)
    assert answer.state is State.SUSPENDED
    assert await effects_of(store, claim.id) == [("other", "ignored")]


async def test_early_signals_meet_expressions(store: Store, dump: Dump) -> None:
    """The caller decides on them; two leaves at one waitpoint have their own opinion each."""
    calls = record_calls(store)
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    for payload in (b"1", b"5", b'"text"'):
        await send(store, point, payload=payload)
    condition = {
        "all": [
            {"waitpoint": "gate", "where": "payload < 3"},
            {"waitpoint": "gate", "where": "payload > 3"},
        ]
    }
    answer = await suspend(store, claim, point, condition=condition)
    assert answer.state is State.ACTIVE
    assert [one.value for one in answer.signals] == [1, 5]
    assert [e for _, e in await effects_of(store, claim.id)] == ["appended", "appended", "ignored"]
    assert [call[0] for call in calls.calls[-2:]] == ["hf_waitpoint_suspend"] * 2
    before = dump()
    again = await calls.again()
    assert again[0] == b"active"
    assert dump() == before


async def test_a_signal_between_check_and_suspend_is_decided_on_too(
    store: Store, dump: Dump
) -> None:
    """What the caller decided holds for the signals it saw only."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    await send(store, point, payload=b"1")
    parsed = conditions.parse({"waitpoint": "gate", "where": "payload > 3"}, ["gate"])
    pack = msgspec.msgpack.encode
    tree = pack(conditions.encode(parsed, {"gate": 1}))

    async def call(seen: bytes, fitting: dict[int, list[int]]) -> list[object]:
        return await store.caller.write(
            "hf_waitpoint_suspend",
            store.tag_of(claim.id),
            *(claim.id, claim.lease.fence, "w", "", "fail", "signal", seen, pack(fitting)),
            *(tree, pack({"number": 1})),
        )

    word, seen, rows = await call(b"", {})
    assert (word, seen, len(rows)) == (b"check", b"1", 1)  # type: ignore[arg-type]
    await send(store, point, payload=b"5")
    before = dump()
    word, seen, rows = await call(b"1", {1: []})
    assert (word, seen, len(rows)) == (b"check", b"2", 2)  # type: ignore[arg-type]
    assert dump() == before
    assert (await call(b"2", {1: [2]}))[0] == b"active"


# Which waitpoints


async def test_a_prepared_one_is_taken_by_its_name(store: Store) -> None:
    """A new attempt need not know what the crashed one prepared."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, title="May it?")
    answer = await suspend(store, claim, "gate")
    assert (answer.waitpoints[0].id, answer.waitpoints[0].title) == (point.id, "May it?")


async def test_prepared_ones_that_are_not_waited_for_stay(store: Store, dump: Dump) -> None:
    """They still take signals, for a later wait."""
    claim = await run_one(store)
    a, b = await prepare(store, claim, "a", "b")
    await suspend(store, claim, a)
    assert await send(store, b, "early") is Effect.BUFFERED
    assert await send(store, a) is Effect.RESUMED
    assert (await point_of(store, b)).state is WaitpointState.PENDING
    claim = await claim_one(store, claim.id)
    answer = await suspend(store, claim, b)
    assert (answer.state, names_of(answer.signals)) == (State.ACTIVE, ["early"])
    woken = (await store.queries.history(claim.id))[-1]
    assert (woken.event, woken.data["by"], woken.data["attempt"]) == ("woken", "early", 0)
    assert violations(dump()) == []


async def test_closed_waitpoints_cannot_be_waited_for(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """From the millisecond of the expiry, whether or not the timer has fired."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, expires_ms=1_000)
    await clock.advance(1_000)
    call = suspend(store, claim, "other", point)
    await refused(call, WaitpointClosed, dump, id=point.id, why="expired")
    await clock.tick()
    call = suspend(store, claim, "other", point)
    await refused(call, WaitpointClosed, dump, id=point.id, why="expired")


async def test_an_expired_one_is_not_taken_by_its_name(store: Store, clock: Clock) -> None:
    """The wait gets a new one."""
    claim = await run_one(store)
    await prepare_one(store, claim, expires_ms=1_000)
    await clock.advance(1_000)
    answer = await suspend(store, claim, "gate")
    assert answer.waitpoints[0].id == f"{claim.id}~w2"


async def test_unknown_waitpoints(store: Store, dump: Dump) -> None:
    """A number that was never given out."""
    claim = await run_one(store)
    parsed = conditions.parse({"waitpoint": "gate"}, ["gate"])
    call = store.waitpoints.suspend(
        *(claim.id, claim.lease.fence, [7], parsed),
        names=["gate"],
        key="w",
        timeout_ms=None,
        on_timeout="fail",
        reason="signal",
    )
    await refused(call, WaitpointNotFound, dump, id=f"{claim.id}~w7")


async def test_there_is_a_most(store: Store, dump: Dump) -> None:
    """One that exists needs no room; a new one does."""
    claim = await run_one(store)
    await plant(store, claim.id, "waitpoints", "9999")
    last = await prepare_one(store, claim, "last")
    call = suspend(store, claim, last, "more")
    await refused(call, TooManyWaitpoints, dump, id=claim.id, limit=10_000)
    assert (await suspend(store, claim, last)).state is State.SUSPENDED


async def test_the_deepest_and_widest_conditions_are_kept_whole(store: Store) -> None:
    """What the store packs has a limit of nesting; ours is inside it."""
    deep: dict[str, Any] = {
        "waitpoint": "gate",
        "signal": ["a*", "b"],
        "where": "payload == 1",
    }
    for _ in range(5):
        deep = {"all": [deep]}
    claim, (point,) = await suspend_one(store, condition=deep)
    assert await send(store, point, "ab", payload=b"2") is Effect.IGNORED
    assert await send(store, point, "c", payload=b"1") is Effect.IGNORED
    assert await send(store, point, "ab", payload=b"1") is Effect.RESUMED
    claim = await claim_one(store, claim.id)
    names = [f"p{n}" for n in range(63)]
    wide = {"all": [{"waitpoint": name} for name in names]}
    points = (await suspend(store, claim, *names, condition=wide)).waitpoints
    effects = [await send(store, point) for point in reversed(points)]
    assert effects == [Effect.APPENDED] * 62 + [Effect.RESUMED]


# Lost replies and lost leases


async def test_a_repeated_suspend_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """At once, when it is resumed, and while the next holder runs: no change."""
    calls = record_calls(store)
    first = await run_one(store)
    answer = await suspend(store, first, "gate", timeout_ms=9_000)
    suspending = len(calls.calls) - 1
    for moment in ("at once", "resumed", "claimed", "ended"):
        if moment == "resumed":
            await send(store, answer.waitpoints[0])
        elif moment == "claimed":
            second = await claim_one(store, first.id)
        elif moment == "ended":
            await store.executions.complete(second.id, second.lease, b"1")
        before = dump()
        word, signals, (number, _) = await calls.again(suspending)
        assert (word, signals, number) == (b"suspended", [], 1)
        assert dump() == before
    assert (await events_of(store, first.id)).count("suspended") == 1


async def test_a_repeated_suspend_that_was_fulfilled_gets_its_signals(
    store: Store, dump: Dump
) -> None:
    """The lease is still held, and nothing is waited for twice."""
    calls = record_calls(store)
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    await send(store, point, "go")
    await suspend(store, claim, "gate", key="w")
    before = dump()
    word, (key, packed), _ = await calls.again()
    assert (word, key, msgspec.msgpack.decode(packed)["name"]) == (b"active", b"w", "go")
    assert dump() == before


async def test_other_calls_of_the_holder_are_refused_while_it_waits(
    store: Store, dump: Dump
) -> None:
    """It gave the lease back."""
    claim, _ = await suspend_one(store)
    context = {"id": claim.id, "state": "suspended"}
    call = store.executions.complete(claim.id, claim.lease, b"1")
    await refused(call, NotActive, dump, **context)
    await refused(prepare(store, claim, "x"), NotActive, dump, **context)
    await refused(store.executions.delay(claim.id, claim.lease, 1), NotActive, dump, **context)


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder_of_the_lease_suspends(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever lost the lease is told so, and nothing changes."""
    lost = await lose_lease(store, clock, how)
    parsed = conditions.parse({"waitpoint": "a"}, ["a"])
    call = store.waitpoints.suspend(
        *(lost.id, lost.lease.fence, [NewWaitpoint(name="a")], parsed),
        names=["a"],
        key="w",
        timeout_ms=None,
        on_timeout="fail",
        reason="signal",
    )
    await refused(call, lost.error, dump, **lost.context)
