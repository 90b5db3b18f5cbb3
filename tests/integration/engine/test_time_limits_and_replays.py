"""Time limits hold, and replays start fresh; the table is in test_lease_guarantees.py."""

from __future__ import annotations

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import StaleLease
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, State
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_in, claim_one

BOOM = Failure(type="Boom", message="boom")


def _policy(max_attempts: int, wait_ms: int = 0) -> RetryPolicy:
    backoff = Backoff(kind="fixed", initial_ms=wait_ms)
    return RetryPolicy(max_attempts=max_attempts, backoff=backoff)


async def test_an_attempt_timeout_ends_the_attempt_and_retries(
    engine: Engine, clock: Clock
) -> None:
    """However well the holder renews, its attempt ends, and the next one starts."""
    made = await engine.submit("work", attempt_timeout_ms=5_000, retry=_policy(2))
    claim = await claim_one(engine.store, made.id, lease_ms=60_000)
    assert claim.timeout_at == from_ms(clock.now_ms + 5_000)
    await clock.advance(4_000)
    await engine.renew([(made.id, claim.lease)], 60_000)
    await clock.advance_and_tick(1_000)
    assert (await engine.describe(made.id)).failures == 1
    with pytest.raises(StaleLease):
        await engine.complete(made.id, claim.lease)
    second = await claim_one(engine.store, made.id)
    assert second.attempt_kind is AttemptKind.RETRY
    await clock.advance_and_tick(5_000)
    known = await engine.describe(made.id)
    assert known.state is State.FAILED
    assert known.error is not None
    assert known.error["type"] == "attempt_timeout"
    assert [a.outcome for a in await engine.attempts(made.id)] == ["timed_out"] * 2


async def test_the_attempt_timeout_is_armed_for_every_attempt(engine: Engine, clock: Clock) -> None:
    """After a reclaim and after a revocation, too."""
    made = await engine.submit("work", attempt_timeout_ms=5_000)
    await claim_one(engine.store, made.id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    again = await claim_one(engine.store, made.id, lease_ms=60_000)
    assert again.timeout_at == from_ms(clock.now_ms + 5_000)
    await engine.revoke_lease(made.id)
    third = await claim_one(engine.store, made.id, lease_ms=60_000)
    assert third.timeout_at == from_ms(clock.now_ms + 5_000)
    await clock.advance_and_tick(5_000)
    assert (await engine.describe(made.id)).state is State.FAILED


async def test_waiting_does_not_use_up_the_attempt_timeout(engine: Engine, clock: Clock) -> None:
    """The limit is for attempts, not for the queue."""
    made = await engine.submit("work", attempt_timeout_ms=5_000)
    await clock.advance_and_tick(100_000)
    claim = await claim_one(engine.store, made.id)
    assert claim.timeout_at == from_ms(clock.now_ms + 5_000)


async def test_a_resumed_attempt_keeps_what_was_left_of_its_time(
    engine: Engine, clock: Clock
) -> None:
    """A pause stops its clock, and does not give it a new one."""
    made = await engine.submit("work", attempt_timeout_ms=5_000)
    claim = await claim_one(engine.store, made.id)
    await clock.advance(3_000)
    await engine.delay(made.id, claim.lease, 60_000)
    assert (await engine.describe(made.id)).timeout_at is None
    await clock.advance_and_tick(60_000)
    again = await claim_one(engine.store, made.id)
    assert again.timeout_at == from_ms(clock.now_ms + 2_000)
    await clock.advance_and_tick(2_000)
    assert (await engine.describe(made.id)).state is State.FAILED


async def test_a_self_delay_ends_even_when_its_resume_is_late(engine: Engine, clock: Clock) -> None:
    """Nobody ticked for a day; the execution goes on in the same attempt all the same."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id)
    await engine.delay(made.id, claim.lease, 1_000)
    await clock.advance(86_400_000)
    assert await claim_in(engine.store, engine.store.tag_of(made.id)) == []
    await clock.advance_and_tick(0)
    again = await claim_one(engine.store, made.id)
    assert again.lease.attempt == claim.lease.attempt
    await engine.complete(made.id, again.lease)
    assert (await engine.describe(made.id)).state is State.COMPLETED


@pytest.mark.parametrize("phase", ["waiting", "delayed", "active", "backoff"])
async def test_a_deadline_ends_it_in_every_phase(engine: Engine, clock: Clock, phase: str) -> None:
    """It counts from the creation, and a retry does not move it."""
    delay_ms = 60_000 if phase == "delayed" else None
    made = await engine.submit(
        "work", deadline_ms=5_000, delay_ms=delay_ms, retry=_policy(9, 9_000)
    )
    if phase in ("active", "backoff"):
        claim = await claim_one(engine.store, made.id)
        if phase == "backoff":
            await clock.advance(1_000)
            await engine.fail(made.id, claim.lease, BOOM)
    await clock.advance_and_tick(3_999 if phase == "backoff" else 4_999)
    assert not (await engine.describe(made.id)).state.is_terminal
    await clock.advance_and_tick(1)
    known = await engine.describe(made.id)
    assert (known.state, known.completed_at) == (State.EXPIRED, from_ms(clock.now_ms))
    assert await claim_in(engine.store, engine.store.tag_of(made.id)) == []


async def test_an_expired_execution_is_not_handed_out_before_its_timer_fires(
    engine: Engine, clock: Clock
) -> None:
    """A late tick does not give it a run after its deadline."""
    made = await engine.submit("work", deadline_ms=1_000)
    await clock.advance(1_000)
    assert await claim_in(engine.store, engine.store.tag_of(made.id)) == []
    await clock.advance_and_tick(0)
    assert (await engine.describe(made.id)).state is State.EXPIRED


async def test_a_replay_has_a_fresh_retry_budget(engine: Engine) -> None:
    """The first failure after the replay of an exhausted execution is not the last."""
    made = await engine.submit("work", retry=_policy(2))
    for _ in range(2):
        claim = await claim_one(engine.store, made.id)
        await engine.fail(made.id, claim.lease, BOOM)
    await engine.replay(made.id)
    assert (await engine.describe(made.id)).failures == 0
    claim = await claim_one(engine.store, made.id)
    assert claim.attempt_kind is AttemptKind.REPLAY
    assert (await engine.fail(made.id, claim.lease, BOOM))[0] is State.WAITING


async def test_a_replay_has_a_fresh_reclaim_budget(engine: Engine, clock: Clock) -> None:
    """What killed its workers before the replay does not count after it."""
    made = await engine.submit("work", max_reclaims=1)
    for _ in range(2):
        await claim_one(engine.store, made.id, lease_ms=1_000)
        await clock.advance_and_tick(1_000)
    assert (await engine.describe(made.id)).state is State.FAILED
    await engine.replay(made.id)
    await claim_one(engine.store, made.id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    assert (await engine.describe(made.id)).state is State.WAITING


async def test_a_replay_has_a_fresh_deadline(engine: Engine, clock: Clock) -> None:
    """The deadline counts from the replay, and is armed."""
    made = await engine.submit("work", deadline_ms=5_000)
    await clock.advance_and_tick(5_000)
    assert (await engine.describe(made.id)).state is State.EXPIRED
    await clock.advance(1_000)
    await engine.replay(made.id)
    known = await engine.describe(made.id)
    assert (known.state, known.deadline_at) == (State.WAITING, from_ms(clock.now_ms + 5_000))
    await clock.advance_and_tick(4_999)
    assert (await engine.describe(made.id)).state is State.WAITING
    await clock.advance_and_tick(1)
    assert (await engine.describe(made.id)).state is State.EXPIRED


async def test_a_replay_forgets_the_old_outcome(engine: Engine, clock: Clock) -> None:
    """Result, error, end, progress and retention are those of the new run."""
    made = await engine.submit("work", retention_ms=10_000)
    claim = await claim_one(engine.store, made.id)
    await engine.progress(made.id, claim.lease, 70, "most of it")
    await engine.complete(made.id, claim.lease, b"x" * 100, content_type="text/plain")
    await engine.replay(made.id)
    known = await engine.describe(made.id)
    assert (known.completed_at, known.forget_at, known.error) == (None, None, None)
    assert (known.progress_pct, known.progress_message) == (None, None)
    assert await engine.outcome(made.id) is None
    await clock.advance_and_tick(10_000)
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease, b"y")
    outcome = await engine.outcome(made.id)
    assert outcome is not None
    assert (outcome.result, outcome.content_type) == (b"y", "application/json")


async def test_the_epoch_never_goes_back(engine: Engine, clock: Clock) -> None:
    """Claims, resumes, reclaims and replays all raise it, so no old holder can return."""
    made = await engine.submit("work")
    epochs = []
    claim = await claim_one(engine.store, made.id, lease_ms=1_000)
    epochs.append(claim.lease.epoch)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(engine.store, made.id)
    epochs.append(claim.lease.epoch)
    await engine.delay(made.id, claim.lease, 0)
    claim = await claim_one(engine.store, made.id)
    epochs.append(claim.lease.epoch)
    await engine.complete(made.id, claim.lease)
    await engine.replay(made.id)
    epochs.append((await claim_one(engine.store, made.id)).lease.epoch)
    assert epochs == [1, 2, 3, 4]
