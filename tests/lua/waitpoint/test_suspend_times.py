"""hf_waitpoint_suspend: what time does to a wait (timeouts, and times in its condition)."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import WaitpointClosed
from holdfast.model.moments import from_ms
from holdfast.model.states import Hold, State
from holdfast.model.waitpoints import ON_TIMEOUT, Effect, Source
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.property.world import without_meta
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, refused, state_of
from tests.support.waits import (
    effects_of,
    events_of,
    names_of,
    point_of,
    prepare_one,
    run_one,
    send,
    suspend,
    suspend_one,
)

ENDS = {"fail": State.FAILED, "cancel": State.CANCELLED, "expire": State.EXPIRED}


@pytest.mark.parametrize("how", ENDS)
async def test_a_timeout_ends_it(store: Store, clock: Clock, dump: Dump, how: str) -> None:
    """At its millisecond, not before; late answers are refused."""
    claim, (point,) = await suspend_one(store, timeout_ms=1_000, on_timeout=how)
    await clock.advance_and_tick(999)
    assert await state_of(store, claim.id) is State.SUSPENDED
    await clock.advance_and_tick(1)
    found = await store.queries.describe(claim.id)
    assert (found.state, found.completed_at) == (ENDS[how], from_ms(clock.now_ms))
    if how == "fail":
        assert found.error is not None
        assert found.error["type"] == "wait_timeout"
    else:
        assert found.reason == "no answer came in time"
    await refused(send(store, point), WaitpointClosed, dump, id=point.id, why="ended")
    (attempt,) = await store.queries.attempts(claim.id)
    assert attempt.outcome == ENDS[how].value
    assert violations(dump(), clock.now_ms) == []


async def test_a_timeout_resumes_it_with_a_signal(store: Store, clock: Clock, dump: Dump) -> None:
    """The attempt gets what has come so far, and last the word that time was up."""
    both = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    claim, (a, b) = await suspend_one(
        store, "a", "b", condition=both, timeout_ms=1_000, on_timeout="resume"
    )
    await send(store, a, "yes")
    await clock.advance_and_tick(1_000)
    assert await state_of(store, claim.id) is State.WAITING
    second = await claim_one(store, claim.id)
    assert (second.lease.attempt, names_of(second.signals)) == (0, ["yes", "timeout"])
    last = second.signals[-1]
    assert (last.value, last.source) == (None, Source(type="system"))
    assert (last.effect, last.waitpoint, last.at) == (Effect.RESUMED, None, from_ms(clock.now_ms))
    await refused(send(store, b), WaitpointClosed, dump, id=b.id, why="resumed")
    assert violations(dump(), clock.now_ms) == []


async def test_a_timeout_escalates_it(store: Store, clock: Clock, dump: Dump) -> None:
    """It waits on, without a timeout, and operators see that it does."""
    claim, (point,) = await suspend_one(
        store, timeout_ms=1_000, on_timeout="escalate", reason="approval"
    )
    await clock.advance_and_tick(999)
    assert (await store.queries.describe(claim.id)).hold is Hold.APPROVAL
    await clock.advance_and_tick(1)
    found = await store.queries.describe(claim.id)
    assert (found.state, found.hold) == (State.SUSPENDED, Hold.ESCALATED)
    assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(86_400_000)
    assert await send(store, point, "late") is Effect.RESUMED
    assert names_of((await claim_one(store, claim.id)).signals) == ["late"]
    assert (await events_of(store, claim.id)).count("escalated") == 1
    assert violations(dump(), clock.now_ms) == []


async def test_an_escalated_one_is_still_counted_and_listed(store: Store, clock: Clock) -> None:
    """Whoever looks for suspended executions finds it."""
    claim, _ = await suspend_one(store, timeout_ms=1_000, on_timeout="escalate")
    await clock.advance_and_tick(1_000)
    counts = {(one.state, one.count) for one in await store.queries.count(None)}
    assert counts == {(State.SUSPENDED, 1)}
    assert await state_of(store, claim.id) is State.SUSPENDED


@pytest.mark.parametrize("how", ON_TIMEOUT)
async def test_an_answer_before_the_timeout_turns_it_off(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """One millisecond before is early enough."""
    claim, (point,) = await suspend_one(store, timeout_ms=1_000, on_timeout=how)
    await clock.advance(999)
    assert await send(store, point) is Effect.RESUMED
    await clock.advance_and_tick(86_400_000)
    assert await state_of(store, claim.id) is State.WAITING
    assert await effects_of(store, claim.id) == [("go", "resumed")]
    assert violations(dump(), clock.now_ms) == []


@pytest.mark.parametrize("how", ["fail", "cancel", "expire", "resume"])
async def test_an_answer_at_the_millisecond_of_the_timeout_is_too_late(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whether or not the timer has fired: the outcome does not depend on who looks first."""
    claim, (point,) = await suspend_one(store, timeout_ms=1_000, on_timeout=how)
    await clock.advance(1_000)
    with pytest.raises(WaitpointClosed):
        await send(store, point)
    assert await state_of(store, claim.id) is ENDS.get(how, State.WAITING)
    fired = without_meta(dump())
    await clock.tick()
    assert without_meta(dump()) == fired
    assert violations(dump(), clock.now_ms) == []


async def test_an_answer_at_the_millisecond_of_the_deadline_is_too_late(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Like one at that of the timeout."""
    claim, (point,) = await suspend_one(store, fields={"deadline_ms": 1_000})
    await clock.advance(1_000)
    with pytest.raises(WaitpointClosed):
        await send(store, point)
    assert await state_of(store, claim.id) is State.EXPIRED
    assert violations(dump(), clock.now_ms) == []


async def test_an_answer_at_the_millisecond_of_an_escalation_counts(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """An escalated wait can still be answered."""
    claim, (point,) = await suspend_one(store, timeout_ms=1_000, on_timeout="escalate")
    await clock.advance(1_000)
    assert await send(store, point) is Effect.RESUMED
    assert (await events_of(store, claim.id))[-2:] == ["escalated", "woken"]
    assert violations(dump(), clock.now_ms) == []


# Times in conditions


async def test_time_alone_fulfils_a_condition(store: Store, clock: Clock, dump: Dump) -> None:
    """At its millisecond; there is no signal then."""
    condition = {"any": [{"waitpoint": "gate"}, {"after_ms": 1_000}]}
    claim, (point,) = await suspend_one(store, condition=condition)
    await clock.advance_and_tick(999)
    assert await state_of(store, claim.id) is State.SUSPENDED
    assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(1)
    assert (await claim_one(store, claim.id)).signals == ()
    assert (await point_of(store, point)).why == "resumed"
    *_, woken, _ = await store.queries.history(claim.id)
    assert woken.data["by"] == "time"
    assert violations(dump(), clock.now_ms) == []


def _all_after(time: dict[str, Any]) -> dict[str, Any]:
    return {"all": [{"waitpoint": "gate"}, time]}


@pytest.mark.parametrize("form", ["after_ms", "not_before"])
async def test_a_signal_counts_from_a_time_on(
    store: Store, clock: Clock, dump: Dump, form: str
) -> None:
    """One that comes before the time is kept, and the time wakes it."""
    at = clock.now_ms + 5_000
    time = {"after_ms": 5_000} if form == "after_ms" else {"not_before": from_ms(at)}
    claim, (point,) = await suspend_one(store, condition=_all_after(time))
    assert await send(store, point) is Effect.APPENDED
    await clock.advance_and_tick(4_999)
    assert await state_of(store, claim.id) is State.SUSPENDED
    await clock.advance_and_tick(1)
    assert names_of((await claim_one(store, claim.id)).signals) == ["go"]
    assert violations(dump(), clock.now_ms) == []


async def test_a_time_passes_before_the_signal(store: Store, clock: Clock, dump: Dump) -> None:
    """It is listed and counted as suspended all the time, and the signal wakes it."""
    claim, (point,) = await suspend_one(store, condition=_all_after({"after_ms": 1_000}))
    await clock.advance_and_tick(1_000)
    assert violations(dump(), clock.now_ms) == []
    assert [one.count for one in await store.queries.count(None)] == [1]
    assert await send(store, point) is Effect.RESUMED
    assert violations(dump(), clock.now_ms) == []
    assert await state_of(store, claim.id) is State.WAITING


async def test_several_times_are_one_timer_after_the_other(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """And the timeout among them."""
    times = [{"after_ms": ms} for ms in (1_000, 3_000, 2_000)]
    claim, _ = await suspend_one(store, condition={"all": times}, timeout_ms=2_500)
    for ms in (1_000, 1_000):
        await clock.advance_and_tick(ms)
        assert await state_of(store, claim.id) is State.SUSPENDED
        assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(500)
    assert await state_of(store, claim.id) is State.FAILED


async def test_a_condition_that_time_fulfils_wins_over_a_timeout_at_the_same_time(
    store: Store, clock: Clock
) -> None:
    """Both are due; what was waited for has come."""
    claim, _ = await suspend_one(store, condition={"after_ms": 1_000}, timeout_ms=1_000)
    await clock.advance_and_tick(1_000)
    assert await state_of(store, claim.id) is State.WAITING


async def test_a_late_tick_sees_the_condition_first(store: Store, clock: Clock) -> None:
    """A timer that fires late does not undo what was fulfilled in time."""
    claim, _ = await suspend_one(store, condition={"after_ms": 1_000}, timeout_ms=2_000)
    await clock.advance_and_tick(60_000)
    assert await state_of(store, claim.id) is State.WAITING


async def test_a_time_that_has_passed_already_keeps_the_lease(store: Store, clock: Clock) -> None:
    """There is nothing to wait for."""
    claim = await run_one(store)
    for time in ({"after_ms": 0}, {"not_before": from_ms(clock.now_ms)}):
        answer = await suspend(store, claim, "gate", condition=time)
        assert (answer.state, answer.signals) == (State.ACTIVE, ())


async def test_a_waitpoint_expires_and_its_wait_goes_on(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Until its own timeout."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, expires_ms=1_000)
    await suspend(store, claim, point, timeout_ms=5_000)
    await clock.advance(1_000)
    await refused(send(store, point), WaitpointClosed, dump, id=point.id, why="expired")
    await clock.tick()
    assert (await point_of(store, point)).why == "expired"
    assert await state_of(store, claim.id) is State.SUSPENDED
    assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(4_000)
    assert await state_of(store, claim.id) is State.FAILED
