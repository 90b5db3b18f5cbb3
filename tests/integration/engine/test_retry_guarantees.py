"""Retries follow their policy; the table is in test_lease_guarantees.py."""

from __future__ import annotations

import pytest

from holdfast.engine.engine import Engine
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import State
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_one

BOOM = Failure(type="Boom", message="boom")
FOREVER = RetryPolicy(max_attempts=100, backoff=Backoff(kind="fixed", initial_ms=0))


def _policy(
    max_attempts: int, wait_ms: int = 1_000, give_up_on: tuple[str, ...] = ()
) -> RetryPolicy:
    backoff = Backoff(kind="fixed", initial_ms=wait_ms)
    return RetryPolicy(max_attempts=max_attempts, backoff=backoff, give_up_on=give_up_on)


async def test_a_permanent_failure_is_not_retried(engine: Engine) -> None:
    """The worker's word ends it, whatever the policy."""
    made = await engine.submit("work", retry=FOREVER)
    claim = await claim_one(engine.store, made.id)
    failure = Failure(type="Boom", message="bad input", retryable=False)
    assert await engine.fail(made.id, claim.lease, failure) == (State.FAILED, None)


async def test_a_type_of_error_may_end_it(engine: Engine) -> None:
    """A type on the list is permanent, its prefix or a longer name is not."""
    policy = _policy(max_attempts=9, wait_ms=0, give_up_on=("ValueError", "Auth"))
    made = await engine.submit("work", retry=policy)
    for harmless in ("Value", "ValueErrorX", "Auth,ValueError", "auth"):
        claim = await claim_one(engine.store, made.id)
        state, _ = await engine.fail(made.id, claim.lease, Failure(type=harmless, message="m"))
        assert state is State.WAITING
    claim = await claim_one(engine.store, made.id)
    state, _ = await engine.fail(made.id, claim.lease, Failure(type="ValueError", message="m"))
    assert state is State.FAILED


async def test_the_worker_may_say_when_to_retry(engine: Engine, clock: Clock) -> None:
    """Its word replaces the backoff, zero included, but gives no further attempt."""
    made = await engine.submit("work", retry=_policy(max_attempts=3))
    claim = await claim_one(engine.store, made.id)
    later = Failure(type="Busy", message="m", retry_after_ms=77)
    assert await engine.fail(made.id, claim.lease, later) == (
        State.DELAYED,
        from_ms(clock.now_ms + 77),
    )
    await clock.advance_and_tick(77)
    claim = await claim_one(engine.store, made.id)
    now = Failure(type="Busy", message="m", retry_after_ms=0)
    assert (await engine.fail(made.id, claim.lease, now))[0] is State.WAITING
    claim = await claim_one(engine.store, made.id)
    assert (await engine.fail(made.id, claim.lease, later))[0] is State.FAILED


async def test_jitter_spreads_those_who_fail_together(engine: Engine, clock: Clock) -> None:
    """Executions that fail in the same moment do not come back in the same moment."""
    backoff = Backoff(kind="fixed", initial_ms=10_000, jitter=0.5)
    policy = RetryPolicy(max_attempts=2, backoff=backoff)
    waits = []
    for number in range(40):
        made = await engine.submit("work", id=f"root~{number}", retry=policy)
        claim = await claim_one(engine.store, made.id)
        _, retry_at = await engine.fail(made.id, claim.lease, BOOM)
        assert retry_at is not None
        waits.append(int(retry_at.timestamp() * 1_000) - clock.now_ms)
        expected = policy.delay_ms(1, made.id, claim.lease.epoch)
        assert waits[-1] == expected
    assert min(waits) >= 5_000
    assert max(waits) <= 15_000
    assert len(set(waits)) > 35
    assert max(waits) - min(waits) > 6_000


@pytest.mark.parametrize("kind", ["fixed", "exponential"])
async def test_every_term_of_a_policy_has_an_effect(
    engine: Engine, clock: Clock, kind: str
) -> None:
    """Attempts, first wait, factor, longest wait: the store does what the policy says."""
    backoff = Backoff(kind=kind, initial_ms=100, factor=2.5, max_ms=1_000)  # type: ignore[arg-type]
    policy = RetryPolicy(max_attempts=6, backoff=backoff)
    made = await engine.submit("work", retry=policy)
    waits: list[int | None] = []
    for _ in range(6):
        claim = await claim_one(engine.store, made.id)
        _, at = await engine.fail(made.id, claim.lease, BOOM)
        waits.append(None if at is None else round(at.timestamp() * 1_000) - clock.now_ms)
        await clock.advance_and_tick(waits[-1] or 0)
    grown = [100, 250, 625, 1_000, 1_000]
    assert waits == [*(grown if kind == "exponential" else [100] * 5), None]
    assert waits == [policy.delay_ms(n, made.id, n) for n in range(1, 7)]


async def test_no_wait_stays_no_wait_in_the_store(engine: Engine) -> None:
    """Nothing times a huge power is still nothing."""
    backoff = Backoff(initial_ms=0, factor=1_000)
    made = await engine.submit("work", retry=RetryPolicy(max_attempts=200, backoff=backoff))
    states = set()
    for _ in range(120):
        claim = await claim_one(engine.store, made.id)
        states.add((await engine.fail(made.id, claim.lease, BOOM))[0])
        if states != {State.WAITING}:
            break
    assert states == {State.WAITING}


async def test_without_a_policy_there_is_one_attempt(engine: Engine) -> None:
    """An absent policy is no policy, not a malformed one."""
    made = await engine.submit("work", retry=None)
    claim = await claim_one(engine.store, made.id)
    assert await engine.fail(made.id, claim.lease, BOOM) == (State.FAILED, None)


async def test_reclaims_and_delays_use_up_no_retries(engine: Engine, clock: Clock) -> None:
    """Only failures count."""
    made = await engine.submit("work", retry=_policy(max_attempts=2, wait_ms=0))
    await claim_one(engine.store, made.id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(engine.store, made.id)
    await engine.delay(made.id, claim.lease, 0)
    claim = await claim_one(engine.store, made.id)
    assert (await engine.fail(made.id, claim.lease, BOOM))[0] is State.WAITING
    claim = await claim_one(engine.store, made.id)
    assert (await engine.fail(made.id, claim.lease, BOOM))[0] is State.FAILED
