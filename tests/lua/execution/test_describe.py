"""hf_execution_describe."""

from __future__ import annotations

from holdfast.errors import ExecutionNotFound
from holdfast.model.moments import from_ms
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, complete_one, create_one, refused

DAY_MS = 86_400_000


async def test_a_life_is_described_at_each_point(store: Store, clock: Clock) -> None:
    """Waiting, active, delayed and ended each show what belongs to them and no more."""
    execution_id = await create_one(
        store, attempt_timeout_ms=60_000, idempotency_key="k", tags={"a": "b"}
    )
    now = clock.now_ms
    waiting = await store.queries.describe(execution_id)
    assert (waiting.state, waiting.worker, waiting.lease_expires_at, waiting.run_at) == (
        State.WAITING,
        None,
        None,
        None,
    )
    assert (waiting.idempotency_key, waiting.tags) == ("k", {"a": "b"})
    claim = await claim_one(store, execution_id, worker="w7", lease_ms=2_000)
    active = await store.queries.describe(execution_id)
    assert (active.worker, active.epoch, active.attempts) == ("w7", 1, 1)
    assert active.lease_expires_at == from_ms(now + 2_000)
    assert active.timeout_at == from_ms(now + 60_000)
    assert (active.run_at, active.forget_at) == (None, None)
    await store.executions.delay(execution_id, claim.lease, 500)
    delayed = await store.queries.describe(execution_id)
    assert (delayed.hold, delayed.run_at) == (Hold.PAUSE, from_ms(now + 500))
    assert (delayed.worker, delayed.lease_expires_at, delayed.timeout_at) == (None, None, None)
    await clock.advance_and_tick(500)
    claim = await claim_one(store, execution_id)
    await store.executions.complete(execution_id, claim.lease, b"1")
    ended = await store.queries.describe(execution_id)
    assert (ended.state, ended.completed_at) == (State.COMPLETED, from_ms(now + 500))
    assert ended.forget_at == from_ms(now + 500 + DAY_MS)
    assert (ended.lease_expires_at, ended.timeout_at, ended.run_at) == (None, None, None)
    assert (ended.worker, ended.hold, ended.attempt_open) == (None, None, False)
    assert ended.attempt_kind is AttemptKind.INITIAL


async def test_describing_writes_nothing(store: Store, dump: Dump) -> None:
    """A look changes nothing."""
    execution_id = await complete_one(store)
    before = dump()
    await store.queries.describe(execution_id)
    assert dump() == before


async def test_describing_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(store.queries.describe("nobody"), ExecutionNotFound, dump, id="nobody")
