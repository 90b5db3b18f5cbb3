"""hf_timer_tick: what has ended is kept for its time, then nothing of it remains."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, create_one, state_of

DAY_MS = 86_400_000
ENDS = ["completed", "failed", "cancelled", "expired"]


async def end(store: Store, clock: Clock, how: str, **fields: Any) -> str:
    """Create an execution and end it in this state."""
    deadline_ms = 10 if how == "expired" else None
    execution_id = await create_one(store, deadline_ms=deadline_ms, **fields)
    if how == "expired":
        await clock.advance_and_tick(10)
    elif how == "cancelled":
        await store.executions.cancel(execution_id, "")
    else:
        claim = await claim_one(store, execution_id)
        if how == "completed":
            await store.executions.complete(execution_id, claim.lease, b"1")
        else:
            failure = Failure(type="e", message="m", retryable=False)
            await store.executions.fail(execution_id, claim.lease, failure)
    assert await state_of(store, execution_id) == how
    return execution_id


async def kept_ms(store: Store, clock: Clock, how: str, **fields: Any) -> int:
    """End an execution and find out by the clock how long it is kept."""
    execution_id = await end(store, clock, how, **fields)
    ended_at = clock.now_ms
    forget_at = (await store.queries.describe(execution_id)).forget_at
    assert forget_at is not None
    kept = round((forget_at - from_ms(ended_at)).total_seconds() * 1000)
    if kept:
        await clock.advance_and_tick(kept - 1)
        assert await state_of(store, execution_id) == how
    await clock.advance_and_tick(min(kept, 1))
    with pytest.raises(ExecutionNotFound):
        await store.queries.describe(execution_id)
    return kept


def left(dump: Dump) -> set[str]:
    """Kinds of keys that are left, without their partition."""
    return {key.split("}:", 1)[1] for key in dump()}


async def live_fully(store: Store, clock: Clock, number: int) -> str:
    """Run an execution that uses everything an execution can own."""
    execution_id = await create_one(
        store,
        tenant=f"t{number % 3}",
        lane=f"l{number % 2}",
        kind=f"k{number % 2}",
        input=b"i" * 500,
        tags={"order": "x" * 200, "n": str(number)},
        requires=("gpu",),
        priority=number,
        delay_ms=50,
        retry=RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=100)),
        attempt_timeout_ms=30_000,
        deadline_ms=60_000,
        idempotency_key=f"key {number}",
    )
    options = {"lanes": ["l0", "l1"], "capabilities": ["gpu"]}
    await store.executions.watch(execution_id, "process")
    await clock.advance_and_tick(50)
    claim = await claim_one(store, execution_id, **options)
    await store.executions.checkpoint(execution_id, claim.lease, "s", b"r" * 500)
    await store.executions.progress(execution_id, claim.lease, 50, "half")
    await store.executions.prioritize(execution_id, number + 1)
    await store.executions.fail(execution_id, claim.lease, Failure(type="e", message="m"))
    await clock.advance_and_tick(100)
    claim = await claim_one(store, execution_id, **options)
    await store.executions.delay(execution_id, claim.lease, 100)
    await clock.advance_and_tick(100)
    claim = await claim_one(store, execution_id, lease_ms=1_000, **options)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(store, execution_id, **options)
    if number % 4 == 0:
        await store.executions.complete(execution_id, claim.lease, b"o" * 500, "text/plain")
    elif number % 4 == 1:
        await store.executions.cancel(execution_id, "enough")
    elif number % 4 == 2:
        failure = Failure(type="e", message="m" * 500, retryable=False)
        await store.executions.fail(execution_id, claim.lease, failure)
    else:
        await clock.advance_and_tick(60_000)
    return execution_id


async def test_nothing_of_an_execution_remains(store: Store, clock: Clock, dump: Dump) -> None:
    """Whatever it used and however it ended, only the partition's own keys are left."""
    ids = [await live_fully(store, clock, number) for number in range(8)]
    states = [await state_of(store, execution_id) for execution_id in ids]
    ends = [State.COMPLETED, State.CANCELLED, State.FAILED, State.EXPIRED]
    assert states == ends * 2
    assert {name.split(":")[0] for name in left(dump)} >= {"x", "i", "t", "l", "s", "c", "g"}
    await clock.advance_and_tick(7 * DAY_MS)
    assert left(dump) <= {"meta"}


async def test_nothing_of_a_replayed_execution_remains(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A second life leaves no more than the first."""
    execution_id = await live_fully(store, clock, 0)
    await store.executions.replay(execution_id, keep_steps=True, from_step="", reason="r")
    await store.executions.watch(execution_id, "process")
    await store.executions.cancel(execution_id, "")
    await clock.advance_and_tick(7 * DAY_MS)
    assert left(dump) <= {"meta"}


async def test_a_replayed_execution_is_not_forgotten_by_its_first_end(
    store: Store, clock: Clock
) -> None:
    """The retention of the first end does not count once it runs again."""
    execution_id = await end(store, clock, "completed", retention_ms=1_000)
    await store.executions.replay(execution_id, keep_steps=False, from_step="", reason="")
    await clock.advance_and_tick(2_000)
    assert await state_of(store, execution_id) is State.WAITING


@pytest.mark.parametrize(
    ("how", "days"), [("completed", 1), ("failed", 7), ("cancelled", 7), ("expired", 7)]
)
async def test_by_default_success_is_kept_a_day_and_the_rest_a_week(
    store: Store, clock: Clock, how: str, days: int
) -> None:
    """There is time to look at what went wrong."""
    assert await kept_ms(store, clock, how) == days * DAY_MS


@pytest.mark.parametrize("how", ENDS)
async def test_retention_is_set_per_tenant_and_outcome(
    store: Store, clock: Clock, how: str
) -> None:
    """The tenant's own setting first, then that of all tenants, for this outcome only."""
    other = "failed" if how != "failed" else "completed"
    await store.lanes.set_retention("*", {how: 5_000, other: 1})
    await store.lanes.set_retention("acme", {how: 3_000, other: 2})
    assert await kept_ms(store, clock, how, tenant="acme") == 3_000
    assert await kept_ms(store, clock, how, tenant="zoo") == 5_000
    await store.lanes.set_retention("acme", {how: None})
    assert await kept_ms(store, clock, how, tenant="acme") == 5_000


@pytest.mark.parametrize("how", ENDS)
async def test_an_execution_may_have_a_retention_of_its_own(
    store: Store, clock: Clock, how: str
) -> None:
    """It comes before all settings."""
    await store.lanes.set_retention("*", {how: 5_000})
    assert await kept_ms(store, clock, how, retention_ms=2_000) == 2_000


async def test_no_retention_forgets_at_the_next_tick(store: Store, clock: Clock) -> None:
    """Zero is allowed, by setting and by execution."""
    await store.lanes.set_retention("acme", {"cancelled": 0})
    assert await kept_ms(store, clock, "cancelled", tenant="acme") == 0
    assert await kept_ms(store, clock, "completed", retention_ms=0) == 0


async def test_a_setting_holds_for_what_ends_from_then_on(store: Store, clock: Clock) -> None:
    """What has ended keeps the time it was given."""
    execution_id = await end(store, clock, "completed")
    await store.lanes.set_retention("*", {"completed": 1_000})
    await clock.advance_and_tick(1_000)
    assert await state_of(store, execution_id) is State.COMPLETED


async def test_others_are_not_forgotten(store: Store, clock: Clock) -> None:
    """Lists, tags and counts of the rest are as they were."""
    first = await end(store, clock, "completed", retention_ms=1_000, tags={"a": "b"})
    second = await end(store, clock, "completed", retention_ms=9_000, tags={"a": "b"})
    await clock.advance_and_tick(1_000)
    (count,) = await store.queries.count(None)
    assert (count.state, count.count) == (State.COMPLETED, 1)
    with pytest.raises(ExecutionNotFound):
        await store.queries.describe(first)
    assert (await store.queries.describe(second)).tags == {"a": "b"}
