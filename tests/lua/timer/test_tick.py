"""hf_timer_tick: what fires, when, and how much of it. Retention has a file of its own."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.errors import StaleLease
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support.lifecycle import (
    Dump,
    claim_in,
    claim_one,
    create_one,
    create_together,
    refused,
    state_of,
)

FAILURE = Failure(type="e", message="m")


async def test_nothing_due_fires_nothing(store: Store) -> None:
    """Without timers the next look is in a second."""
    assert await store.timers.tick(next(store.tags()), 100) == (0, 1_000)


async def test_the_next_look_is_when_the_next_timer_is_due(store: Store, clock: Clock) -> None:
    """To the millisecond, but never later than in a second."""
    execution_id = await create_one(store, delay_ms=5_300)
    tag = store.tag_of(execution_id)
    assert await store.timers.tick(tag, 100) == (0, 1_000)
    await clock.advance(5_000)
    assert await store.timers.tick(tag, 100) == (0, 300)
    await clock.advance(299)
    assert await store.timers.tick(tag, 100) == (0, 1)
    await clock.advance(1)
    assert await store.timers.tick(tag, 100) == (1, 1_000)


async def test_a_tick_fires_no_more_than_its_limit(store: Store, clock: Clock) -> None:
    """What is left is due now, so the next look is at once; the earliest go first."""
    ids = await create_together(store, *[{"delay_ms": 50 - n} for n in range(5)])
    tag = store.tag_of(ids[0])
    await clock.advance(50)
    assert await store.timers.tick(tag, 2) == (2, 0)
    states = [await state_of(store, one) for one in ids]
    assert states == [State.DELAYED] * 3 + [State.WAITING] * 2
    assert await store.timers.tick(tag, 2) == (2, 0)
    assert await store.timers.tick(tag, 2) == (1, 1_000)


async def test_a_second_tick_changes_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """Any process may tick at any time, also several at once."""
    ids = await create_together(store, *[{"delay_ms": 50} for _ in range(6)], {"deadline_ms": 40})
    tag = store.tag_of(ids[0])
    await clock.advance(50)
    ticks = await asyncio.gather(*(store.timers.tick(tag, 4) for _ in range(4)))
    assert sum(fired for fired, _ in ticks) == 7
    before = dump()
    assert (await store.timers.tick(tag, 4))[0] == 0
    assert dump() == before
    assert len(await claim_in(store, tag, limit=99)) == 6


@pytest.mark.parametrize(
    "timer",
    [
        *("x:ghost", "k:ghost", "w:ghost~w1", "g:ghost", "s:ghost", "q:ghost", "b:ghost"),
        *(
            "v:ghost|key",
            "a:ghost",
            "f:ghost",
            "c:ghost",
            "o:ghost",
            "t:acme|ghost",
            "m:acme|ghost",
        ),
    ],
)
async def test_a_timer_of_what_is_gone_goes_away(store: Store, clock: Clock, timer: str) -> None:
    """A leftover does not fire for ever."""
    tag = next(store.tags())
    await store.client.call(["ZADD", f"{tag}:timers", str(clock.now_ms), timer])
    assert await store.timers.tick(tag, 100) == (1, 1_000)
    assert await store.timers.tick(tag, 100) == (0, 1_000)


async def test_a_timer_that_is_too_early_is_set_right(store: Store, clock: Clock) -> None:
    """What fires looks at the record, so a wrong timer does no harm."""
    execution_id = await create_one(store, delay_ms=500)
    tag = store.tag_of(execution_id)
    await store.client.call(["ZADD", f"{tag}:timers", str(clock.now_ms), f"x:{execution_id}"])
    assert await store.timers.tick(tag, 100) == (1, 500)
    assert await state_of(store, execution_id) is State.DELAYED


async def test_a_nearer_timer_wakes_the_maintenance_loop(store: Store, clock: Clock) -> None:
    """A timer before the planned look is announced; a later one is not."""
    tag = store.tag_of("r")
    heard: list[str] = []

    def listen(_channel: str, message: str) -> None:
        heard.append(message)

    channel = channels.timers(tag)
    await store.subscriptions.add([channel], listen)
    await store.timers.tick(tag, 100)
    await create_one(store, id="r~1", delay_ms=1_500)
    await create_one(store, id="r~2", delay_ms=500)
    await create_one(store, id="r~3", delay_ms=700)
    await create_one(store, id="r~4", delay_ms=50)
    verb = "SPUBLISH" if store.client.cluster else "PUBLISH"
    await store.client.call([verb, channel, "end of test"])

    async def ended() -> bool:
        return "end of test" in heard

    await wait_for(ended)
    await store.subscriptions.remove([channel], listen)
    assert heard == ["", "", "end of test"]


async def test_a_delay_ends_when_it_is_due(store: Store, clock: Clock) -> None:
    """Not before; then it is ready."""
    execution_id = await create_one(store, delay_ms=50)
    assert await clock.advance_and_tick(49) == 0
    assert await state_of(store, execution_id) is State.DELAYED
    assert await clock.advance_and_tick(1) == 1
    found = await store.queries.describe(execution_id)
    assert (found.state, found.hold, found.run_at) == (State.WAITING, None, None)
    await claim_one(store, execution_id)


async def test_a_backoff_ends_when_it_is_due(store: Store, clock: Clock) -> None:
    """The retry is ready then."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=50))
    claim = await claim_one(store, await create_one(store, retry=policy))
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    await clock.advance_and_tick(49)
    assert await state_of(store, claim.id) is State.DELAYED
    await clock.advance_and_tick(1)
    again = await claim_one(store, claim.id)
    assert (again.lease.attempt, again.attempt_kind) == (1, AttemptKind.RETRY)


async def test_an_expired_lease_is_reclaimed_at_once(store: Store, clock: Clock) -> None:
    """The first time it is ready in the same tick, as a new attempt."""
    claim = await claim_one(store, await create_one(store), lease_ms=1_000, worker="w7")
    await clock.advance_and_tick(999)
    assert await state_of(store, claim.id) is State.ACTIVE
    await clock.advance_and_tick(1)
    found = await store.queries.describe(claim.id)
    assert (found.state, found.reclaims, found.failures) == (State.WAITING, 1, 0)
    assert (found.lease_expires_at, found.attempt_kind) == (None, AttemptKind.RECLAIM)
    event = (await store.queries.history(claim.id))[-1]
    assert (event.event, event.data) == ("lease_expired", {"attempt": 0, "worker": "w7"})
    assert (await claim_one(store, claim.id)).lease.attempt == 1


async def test_later_reclaims_wait_longer_and_longer_up_to_the_cap(
    store: Store, clock: Clock
) -> None:
    """Nothing, a second, two, four, up to a minute; the twenty-first is the end."""
    execution_id = await create_one(store)
    waits = [0, *(min(60_000, 1_000 * 2**n) for n in range(19))]
    for reclaims, wait_ms in enumerate(waits, start=1):
        await claim_one(store, execution_id, lease_ms=1_000)
        await clock.advance_and_tick(1_000)
        found = await store.queries.describe(execution_id)
        assert found.reclaims == reclaims
        if wait_ms:
            assert (found.state, found.hold) == (State.DELAYED, Hold.RECLAIM)
            assert found.run_at == from_ms(clock.now_ms + wait_ms)
            await clock.advance_and_tick(wait_ms - 1)
            assert await state_of(store, execution_id) is State.DELAYED
            await clock.advance_and_tick(1)
        assert await state_of(store, execution_id) is State.WAITING
    await claim_one(store, execution_id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    found = await store.queries.describe(execution_id)
    assert (found.state, found.reclaims) == (State.FAILED, 21)
    assert found.error is not None
    assert found.error["type"] == "reclaim_limit"


@pytest.mark.parametrize("most", [0, 1])
async def test_the_cap_of_reclaims_is_that_of_the_execution(
    store: Store, clock: Clock, dump: Dump, most: int
) -> None:
    """A poison task ends as failed with its history, and its holder is told."""
    execution_id = await create_one(store, max_reclaims=most)
    for _ in range(most + 1):
        claim = await claim_one(store, execution_id, lease_ms=1_000)
        await clock.advance_and_tick(1_000)
    assert await state_of(store, execution_id) is State.FAILED
    outcomes = [attempt.outcome for attempt in await store.queries.attempts(execution_id)]
    assert outcomes == ["lease_expired"] * (most + 1)
    call = store.executions.complete(execution_id, claim.lease, b"1")
    await refused(call, StaleLease, dump, id=execution_id, state="failed", epoch=claim.lease.epoch)


async def test_a_long_attempt_times_out_and_uses_up_its_retries(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """First a retry by the policy, then failed; the holder has lost its lease."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=700))
    execution_id = await create_one(store, retry=policy, attempt_timeout_ms=5_000)
    claim = await claim_one(store, execution_id)
    await clock.advance_and_tick(4_999)
    assert await state_of(store, execution_id) is State.ACTIVE
    await clock.advance_and_tick(1)
    found = await store.queries.describe(execution_id)
    assert (found.state, found.hold, found.failures) == (State.DELAYED, Hold.BACKOFF, 1)
    assert (found.run_at, found.timeout_at) == (from_ms(clock.now_ms + 700), None)
    call = store.executions.complete(execution_id, claim.lease, b"1")
    await refused(call, StaleLease, dump, id=execution_id, state="delayed", epoch=1)
    await clock.advance_and_tick(700)
    claim = await claim_one(store, execution_id)
    assert claim.timeout_at == from_ms(clock.now_ms + 5_000)
    await clock.advance_and_tick(5_000)
    found = await store.queries.describe(execution_id)
    assert (found.state, found.failures) == (State.FAILED, 2)
    assert found.error is not None
    assert found.error["type"] == "attempt_timeout"
    outcomes = [attempt.outcome for attempt in await store.queries.attempts(execution_id)]
    assert outcomes == ["timed_out", "timed_out"]


@pytest.mark.parametrize("state", ["waiting", "delayed", "backoff", "paused", "active", "stale"])
async def test_a_deadline_ends_every_state(store: Store, clock: Clock, state: str) -> None:
    """Whatever it does then, it is expired, and no worker gets it any more."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=60_000))
    delay_ms = 60_000 if state == "delayed" else None
    execution_id = await create_one(store, deadline_ms=5_000, retry=policy, delay_ms=delay_ms)
    if state in {"backoff", "paused", "active", "stale"}:
        lease_ms = 5_000 if state == "stale" else 60_000
        claim = await claim_one(store, execution_id, lease_ms=lease_ms)
        if state == "backoff":
            await store.executions.fail(execution_id, claim.lease, FAILURE)
        if state == "paused":
            await store.executions.delay(execution_id, claim.lease, 60_000)
    await clock.advance_and_tick(4_999)
    assert not (await state_of(store, execution_id)).is_terminal
    await clock.advance_and_tick(1)
    found = await store.queries.describe(execution_id)
    assert (found.state, found.completed_at) == (State.EXPIRED, from_ms(clock.now_ms))
    await clock.advance_and_tick(60_000)
    assert await claim_in(store, store.tag_of(execution_id)) == []
    assert await state_of(store, execution_id) is State.EXPIRED
    attempts = await store.queries.attempts(execution_id)
    ends = {"waiting": [], "delayed": [], "backoff": ["failed"]}
    assert [attempt.outcome for attempt in attempts] == ends.get(state, ["expired"])


async def test_a_start_at_its_deadline_is_too_late(store: Store, clock: Clock) -> None:
    """Of two things that are due at once the deadline wins."""
    execution_id = await create_one(store, deadline_ms=500, delay_ms=500)
    await clock.advance_and_tick(500)
    assert await state_of(store, execution_id) is State.EXPIRED


async def test_a_completed_execution_has_no_deadline(store: Store, clock: Clock) -> None:
    """Nothing that was due before its end fires after it."""
    execution_id = await create_one(store, deadline_ms=500, attempt_timeout_ms=400)
    claim = await claim_one(store, execution_id)
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert await clock.advance_and_tick(60_000) == 0
    assert await state_of(store, execution_id) is State.COMPLETED
