"""hf_execution_delay."""

from __future__ import annotations

import pytest

from holdfast.errors import NotActive
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
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


async def test_the_same_attempt_goes_on_later(store: Store, clock: Clock) -> None:
    """A delay gives the lease back; the next claim has a new epoch and the old attempt."""
    first = await claim_one(store, await create_one(store))
    answer = await store.executions.delay(first.id, first.lease, 5_000)
    assert answer == (State.DELAYED, from_ms(clock.now_ms + 5_000))
    found = await store.queries.describe(first.id)
    assert (found.state, found.hold, found.run_at) == (State.DELAYED, Hold.PAUSE, answer[1])
    assert (found.attempt_open, found.lease_expires_at) == (True, None)
    await clock.advance_and_tick(4_999)
    assert await claim_in(store, store.tag_of(first.id)) == []
    await clock.advance_and_tick(1)
    second = await claim_one(store, first.id)
    assert (second.lease.attempt, second.lease.epoch) == (0, 2)
    assert second.attempt_kind is AttemptKind.INITIAL
    found = await store.queries.describe(first.id)
    assert (found.attempts, found.attempt_open) == (1, False)


async def test_no_delay_is_ready_at_once(store: Store, clock: Clock) -> None:
    """Zero is a way to give others a turn."""
    claim = await claim_one(store, await create_one(store))
    answer = await store.executions.delay(claim.id, claim.lease, 0)
    assert answer == (State.WAITING, from_ms(clock.now_ms))
    assert (await claim_one(store, claim.id)).lease.attempt == 0


async def test_steps_survive_a_delay(store: Store) -> None:
    """The journal is there when the attempt goes on."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.checkpoint(claim.id, claim.lease, "s", b"1")
    await store.executions.delay(claim.id, claim.lease, 0)
    assert (await claim_one(store, claim.id)).steps == {"s": b"1"}


async def test_a_delay_uses_up_no_retry(store: Store) -> None:
    """The attempt that goes on may still fail and be retried."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    claim = await claim_one(store, await create_one(store, retry=policy))
    for _ in range(3):
        await store.executions.delay(claim.id, claim.lease, 0)
        claim = await claim_one(store, claim.id)
    failure = Failure(type="e", message="m")
    assert (await store.executions.fail(claim.id, claim.lease, failure))[0] is State.WAITING


async def test_an_attempt_timeout_counts_only_the_time_it_runs(store: Store, clock: Clock) -> None:
    """Of ten seconds, four are used before the delay, so six are left after it."""
    first = await claim_one(store, await create_one(store, attempt_timeout_ms=10_000))
    await clock.advance_and_tick(4_000)
    await store.executions.delay(first.id, first.lease, 60_000)
    assert (await store.queries.describe(first.id)).timeout_at is None
    await clock.advance_and_tick(60_000)
    second = await claim_one(store, first.id)
    assert second.timeout_at == from_ms(clock.now_ms + 6_000)
    await clock.advance_and_tick(5_999)
    assert await state_of(store, first.id) is State.ACTIVE
    await clock.advance_and_tick(1)
    assert await state_of(store, first.id) is State.FAILED


async def test_a_new_attempt_after_a_delay_has_its_whole_timeout(
    store: Store, clock: Clock
) -> None:
    """What is left of an attempt is not passed on to the next one."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    execution_id = await create_one(store, attempt_timeout_ms=10_000, retry=policy)
    claim = await claim_one(store, execution_id)
    await clock.advance(9_000)
    await store.executions.delay(claim.id, claim.lease, 0)
    claim = await claim_one(store, execution_id)
    await store.executions.fail(claim.id, claim.lease, Failure(type="e", message="m"))
    claim = await claim_one(store, execution_id)
    assert claim.timeout_at == from_ms(clock.now_ms + 10_000)


async def test_a_deadline_passes_during_a_delay(store: Store, clock: Clock) -> None:
    """A delay does not outlive the deadline."""
    claim = await claim_one(store, await create_one(store, deadline_ms=3_000))
    await store.executions.delay(claim.id, claim.lease, 5_000)
    await clock.advance_and_tick(3_000)
    assert await state_of(store, claim.id) is State.EXPIRED


async def test_a_repeated_delay_gets_the_same_answer(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Later, when it is due, and while the next holder runs: the first answer, no change."""
    first = await claim_one(store, await create_one(store))
    answer = await store.executions.delay(first.id, first.lease, 5_000)
    for moment in ("at once", "due", "resumed"):
        if moment == "due":
            await clock.advance_and_tick(5_000)
        if moment == "resumed":
            await claim_one(store, first.id)
        before = dump()
        assert await store.executions.delay(first.id, first.lease, 9_000) == answer
        assert dump() == before


@pytest.mark.parametrize("until", [None, 60_000])
async def test_a_wait_for_a_signal_is_not_taken_for_a_delay(
    store: Store, clock: Clock, dump: Dump, until: int | None
) -> None:
    """A worker whose wait was cancelled delays; the store may have heard of the wait before."""
    claim = await claim_one(store, await create_one(store))
    until_ms = None if until is None else clock.now_ms + until
    assert await store.inboxes.wait(claim.id, claim.lease, [], until_ms) is None
    delay = store.executions.delay(claim.id, claim.lease, 0)
    await refused(delay, NotActive, dump, id=claim.id, state="delayed")
    other = await claim_one(store, await create_one(store))
    await store.executions.delay(other.id, other.lease, 5_000)
    wait = store.inboxes.wait(other.id, other.lease, [], until_ms)
    await refused(wait, NotActive, dump, id=other.id, state="delayed")


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder_of_the_lease_delays_it(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever lost the lease is told so, and nothing changes."""
    lost = await lose_lease(store, clock, how)
    call = store.executions.delay(lost.id, lost.lease, 1_000)
    await refused(call, lost.error, dump, **lost.context)
