"""hf_execution_fail."""

from __future__ import annotations

import pytest

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
    create_together,
    lose_lease,
    refused,
    state_of,
)

FAILURE = Failure(type="IOError", message="no route", details={"n": [1, {}, []]})
FIXED = Backoff(kind="fixed", initial_ms=700)


async def test_without_a_policy_the_first_failure_is_the_end(store: Store, clock: Clock) -> None:
    """The state is terminal and the error is kept as it was."""
    claim = await claim_one(store, await create_one(store))
    assert await store.executions.fail(claim.id, claim.lease, FAILURE) == (State.FAILED, None)
    found = await store.queries.describe(claim.id)
    assert (found.state, found.failures) == (State.FAILED, 1)
    assert found.error == {"type": "IOError", "message": "no route", "details": {"n": [1, {}, []]}}
    assert found.completed_at == from_ms(clock.now_ms)


@pytest.mark.parametrize(
    "backoff",
    [
        FIXED,
        Backoff(kind="fixed", initial_ms=700, jitter=0.5),
        Backoff(kind="exponential", initial_ms=100, factor=2, max_ms=1_000_000),
        Backoff(kind="exponential", initial_ms=100, factor=10, max_ms=5_000),
        Backoff(kind="exponential", initial_ms=333, factor=1.5, max_ms=60_000, jitter=0.9),
        Backoff(kind="exponential", initial_ms=1_000, factor=1_000, max_ms=10**9, jitter=0.25),
        Backoff(kind="exponential", initial_ms=10**8, factor=1.123456789, max_ms=10**9),
        Backoff(kind="fixed", initial_ms=10**8, jitter=0.123456789),
    ],
    ids=str,
)
async def test_waits_are_those_of_the_policy(store: Store, clock: Clock, backoff: Backoff) -> None:
    """Each failure waits as RetryPolicy.delay_ms says, then the attempts are used up."""
    policy = RetryPolicy(max_attempts=6, backoff=backoff)
    execution_id = await create_one(store, retry=policy)
    for failures in range(1, 6):
        claim = await claim_one(store, execution_id)
        wait_ms = policy.delay_ms(failures, execution_id, claim.lease.epoch)
        assert wait_ms is not None
        answer = await store.executions.fail(execution_id, claim.lease, FAILURE)
        assert answer == (State.DELAYED, from_ms(clock.now_ms + wait_ms))
        found = await store.queries.describe(execution_id)
        assert (found.state, found.hold, found.failures) == (State.DELAYED, Hold.BACKOFF, failures)
        assert (found.run_at, found.attempt_kind) == (answer[1], AttemptKind.RETRY)
        await clock.advance_and_tick(wait_ms - 1)
        assert await claim_in(store, store.tag_of(execution_id)) == []
        await clock.advance_and_tick(1)
    claim = await claim_one(store, execution_id)
    assert await store.executions.fail(execution_id, claim.lease, FAILURE) == (State.FAILED, None)
    assert (await store.queries.describe(execution_id)).attempts == 6


async def test_executions_that_fail_together_retry_apart(store: Store) -> None:
    """Jitter differs between executions and between the attempts of one."""
    policy = RetryPolicy(max_attempts=9, backoff=Backoff(initial_ms=60_000, jitter=0.5))
    ids = await create_together(store, *[{"retry": policy} for _ in range(20)])
    moments = set()
    for claim in await claim_in(store, store.tag_of(ids[0]), limit=20):
        _, retry_at = await store.executions.fail(claim.id, claim.lease, FAILURE)
        moments.add(retry_at)
    assert len(moments) > 15


async def test_no_wait_means_ready_at_once(store: Store, clock: Clock) -> None:
    """A backoff of zero needs no timer."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    claim = await claim_one(store, await create_one(store, retry=policy))
    answer = await store.executions.fail(claim.id, claim.lease, FAILURE)
    assert answer == (State.WAITING, from_ms(clock.now_ms))
    assert (await claim_one(store, claim.id)).lease.attempt == 1


@pytest.mark.parametrize("after_ms", [0, 1, 5_000_000])
async def test_retry_after_replaces_the_backoff(store: Store, clock: Clock, after_ms: int) -> None:
    """The worker knows better, in both directions and beyond the policy's maximum."""
    policy = RetryPolicy(max_attempts=2, backoff=FIXED)
    claim = await claim_one(store, await create_one(store, retry=policy))
    failure = Failure(type="e", message="m", retry_after_ms=after_ms)
    state, retry_at = await store.executions.fail(claim.id, claim.lease, failure)
    assert state is (State.DELAYED if after_ms else State.WAITING)
    assert retry_at == from_ms(clock.now_ms + after_ms)


async def test_retry_after_grants_no_further_attempt(store: Store) -> None:
    """It moves a retry, it does not add one."""
    claim = await claim_one(store, await create_one(store, retry=RetryPolicy(max_attempts=1)))
    failure = Failure(type="e", message="m", retry_after_ms=10)
    assert await store.executions.fail(claim.id, claim.lease, failure) == (State.FAILED, None)


@pytest.mark.parametrize(
    ("failure", "ends"),
    [
        (Failure(type="Bad", message=""), True),
        (Failure(type="Worse", message=""), True),
        (Failure(type="Ba", message=""), False),
        (Failure(type="Bad,Worse", message=""), False),
        (Failure(type="Other", message=""), False),
        (Failure(type="Other", message="", retryable=False), True),
        (Failure(type="Other", message="", retryable=False, retry_after_ms=1), True),
        (Failure(type="Bad", message="", retry_after_ms=1), True),
    ],
    ids=str,
)
async def test_some_errors_are_never_retried(store: Store, failure: Failure, *, ends: bool) -> None:
    """By the type that the policy gives up on, or by the word of the worker."""
    policy = RetryPolicy(max_attempts=5, backoff=FIXED, give_up_on=("Bad", "Worse"))
    claim = await claim_one(store, await create_one(store, retry=policy))
    state, retry_at = await store.executions.fail(claim.id, claim.lease, failure)
    assert state is (State.FAILED if ends else State.DELAYED)
    assert (retry_at is None) == ends


async def test_a_repeated_fail_gets_the_same_answer(store: Store, clock: Clock, dump: Dump) -> None:
    """While it waits, while a later attempt runs, and after the end."""
    policy = RetryPolicy(max_attempts=2, backoff=FIXED)
    first = await claim_one(store, await create_one(store, retry=policy))

    async def unchanged() -> None:
        before = dump()
        other = Failure(type="other", message="other", retryable=False)
        assert await store.executions.fail(first.id, first.lease, other) == answer
        assert dump() == before

    answer = await store.executions.fail(first.id, first.lease, FAILURE)
    await unchanged()
    await clock.advance_and_tick(700)
    await unchanged()
    second = await claim_one(store, first.id)
    await unchanged()
    await store.executions.complete(first.id, second.lease, b"1")
    await unchanged()


async def test_a_repeated_last_fail_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """The end by failure can be asked for again, too."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    before = dump()
    assert await store.executions.fail(claim.id, claim.lease, FAILURE) == (State.FAILED, None)
    assert dump() == before


async def test_a_failed_attempt_cannot_be_completed(store: Store, dump: Dump) -> None:
    """One holder ends its attempt in one way."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    claim = await claim_one(store, await create_one(store, retry=policy))
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    before = dump()
    with pytest.raises(Exception, match="is not running: waiting"):
        await store.executions.complete(claim.id, claim.lease, b"1")
    assert dump() == before


async def test_a_success_after_failures_is_a_success(store: Store) -> None:
    """The error of an earlier attempt is no error of a completed execution."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    first = await claim_one(store, await create_one(store, retry=policy))
    await store.executions.fail(first.id, first.lease, FAILURE)
    second = await claim_one(store, first.id)
    await store.executions.complete(first.id, second.lease, b"1")
    found = await store.queries.describe(first.id)
    assert (found.state, found.error) == (State.COMPLETED, None)


async def test_reclaims_use_up_no_retry(store: Store, clock: Clock) -> None:
    """Losing a worker is not the fault of the task."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    claim = await claim_one(store, await create_one(store, retry=policy), lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(store, claim.id)
    state, _ = await store.executions.fail(claim.id, claim.lease, FAILURE)
    assert state is State.WAITING


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder_of_the_lease_fails_it(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever lost the lease is told so, and nothing changes."""
    lost = await lose_lease(store, clock, how)
    call = store.executions.fail(lost.id, lost.lease, FAILURE)
    await refused(call, lost.error, dump, **lost.context)
    if how not in {"unknown", "cancelled", "completed", "past_deadline"}:
        assert not (await state_of(store, lost.id)).is_terminal
