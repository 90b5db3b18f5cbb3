"""hf_execution_history."""

from __future__ import annotations

import asyncio

from holdfast.errors import ExecutionNotFound
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.lifecycle import Dump, claim_one, complete_one, create_one, refused

FAILURE = Failure(type="IOError", message="no route")


async def names(store: Store, execution_id: str) -> list[str]:
    return [event.event for event in await store.queries.history(execution_id)]


async def test_a_plain_life_is_created_claimed_completed(store: Store, clock: Clock) -> None:
    """Each with its time; what is kept for repeated calls is not shown."""
    execution_id = await create_one(store)
    await clock.advance(10)
    claim = await claim_one(store, execution_id, worker="w7")
    await clock.advance(10)
    await store.executions.complete(execution_id, claim.lease, b"1")
    created, claimed, completed = await store.queries.history(execution_id)
    assert (created.event, created.at, created.data) == ("created", from_ms(START_MS), {})
    assert (claimed.event, claimed.at) == ("claimed", from_ms(START_MS + 10))
    assert claimed.data == {"attempt": 0, "epoch": 1, "worker": "w7"}
    assert (completed.event, completed.at) == ("completed", from_ms(START_MS + 20))
    assert completed.data == {"attempt": 0}


async def test_every_event_is_told_in_its_order(store: Store, clock: Clock) -> None:
    """Retry, reclaim, delay, revocation, priority and replay all leave their mark."""
    policy = RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=0))
    execution_id = await create_one(store, retry=policy, attempt_timeout_ms=50_000)
    claim = await claim_one(store, execution_id)
    await store.executions.fail(execution_id, claim.lease, FAILURE)
    await claim_one(store, execution_id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(store, execution_id)
    await store.executions.delay(execution_id, claim.lease, 0)
    await claim_one(store, execution_id)
    await store.leases.revoke(execution_id, "operator")
    await claim_one(store, execution_id, lease_ms=60_000)
    await store.executions.prioritize(execution_id, 2)
    await clock.advance_and_tick(50_000)
    claim = await claim_one(store, execution_id)
    await store.executions.complete(execution_id, claim.lease, b"1")
    await store.executions.replay(execution_id, keep_steps=True, from_step="", reason="r")
    await store.executions.cancel(execution_id, "enough")
    assert await names(store, execution_id) == [
        "created",
        *("claimed", "failed"),
        *("claimed", "lease_expired"),
        *("claimed", "delayed", "resumed", "lease_revoked"),
        *("claimed", "prioritized", "timed_out"),
        *("claimed", "completed", "replayed", "cancelled"),
    ]


async def test_events_carry_what_happened(store: Store, clock: Clock) -> None:
    """The error and next time of a failure, the reason of an operator."""
    policy = RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=500))
    claim = await claim_one(store, await create_one(store, retry=policy))
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    await store.executions.cancel(claim.id, "enough")
    failed, cancelled = (await store.queries.history(claim.id))[-2:]
    assert failed.data == {
        "attempt": 0,
        "state": "delayed",
        "retry_at": from_ms(clock.now_ms + 500),
        "error": {"type": "IOError", "message": "no route"},
    }
    assert cancelled.data == {"reason": "enough"}


async def test_attempts_are_told_from_the_history(store: Store, clock: Clock) -> None:
    """Each attempt has its kind, worker, times and outcome."""
    policy = RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=0))
    execution_id = await create_one(store, retry=policy)
    claim = await claim_one(store, execution_id, worker="w1")
    await clock.advance(5)
    await store.executions.fail(execution_id, claim.lease, FAILURE)
    await claim_one(store, execution_id, worker="w2", lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(store, execution_id, worker="w3")
    await store.executions.delay(execution_id, claim.lease, 0)
    claim = await claim_one(store, execution_id, worker="w4")
    first, second, third = await store.queries.attempts(execution_id)
    assert (first.index, first.kind, first.worker) == (0, AttemptKind.INITIAL, "w1")
    assert (first.outcome, first.error) == ("failed", {"type": "IOError", "message": "no route"})
    assert (first.started_at, first.ended_at) == (from_ms(START_MS), from_ms(START_MS + 5))
    assert (second.kind, second.worker, second.outcome) == (
        AttemptKind.RETRY,
        "w2",
        "lease_expired",
    )
    assert (third.kind, third.worker) == (AttemptKind.RECLAIM, "w4")
    assert (third.outcome, third.ended_at) == (None, None)
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert (await store.queries.attempts(execution_id))[2].outcome == "completed"


async def test_only_the_recent_past_of_a_long_life_is_kept(store: Store) -> None:
    """A history does not grow without end."""
    execution_id = await create_one(store)
    changes = [store.executions.prioritize(execution_id, n % 2 + 1) for n in range(1_050)]
    await asyncio.gather(*changes)
    await store.executions.prioritize(execution_id, 3)
    history = await store.queries.history(execution_id)
    assert len(history) == 1 + 1_000
    assert history[-1].data["to"] == 3


async def test_reading_a_history_writes_nothing(store: Store, dump: Dump) -> None:
    """Events that the record tells are not written down by being read."""
    execution_id = await complete_one(store)
    before = dump()
    await store.queries.history(execution_id)
    assert dump() == before


async def test_the_history_of_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(store.queries.history("nobody"), ExecutionNotFound, dump, id="nobody")
