"""hf_admin_pulse: waiting times, late timers, counts of incidents."""

from __future__ import annotations

import pytest

from holdfast.model.executions import Failure
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_one, create_one

RETRY = RetryPolicy(max_attempts=9, backoff=Backoff(kind="fixed", initial_ms=0))
NONE = {"lease_expired": 0, "timed_out": 0, "retried": 0, "deadline_passed": 0}


async def test_an_empty_store_has_no_pulse(store: Store) -> None:
    """Nothing waits, nothing is late, nothing has happened."""
    pulse = await store.queries.pulse()
    assert (pulse.late_s, pulse.waiting_s, pulse.incidents) == (0, {}, NONE)


async def test_the_oldest_of_each_lane_counts(store: Store, clock: Clock) -> None:
    """Over tenants and partitions; what runs does not wait."""
    first = await create_one(store, lane="a", tenant="t1")
    await clock.advance(1_000)
    await create_one(store, lane="a", tenant="t2")
    await create_one(store, lane="b")
    await clock.advance(500)
    assert (await store.queries.pulse()).waiting_s == pytest.approx({"a": 1.5, "b": 0.5})
    await claim_one(store, first, lanes=["a"])
    assert (await store.queries.pulse()).waiting_s == pytest.approx({"a": 0.5, "b": 0.5})


async def test_a_timer_that_nobody_fires_is_late(store: Store, clock: Clock) -> None:
    """Until a tick."""
    await create_one(store, delay_ms=1_000)
    await clock.advance(4_000)
    assert (await store.queries.pulse()).late_s == 3
    await clock.tick()
    assert (await store.queries.pulse()).late_s == 0


async def test_incidents_are_counted(store: Store, clock: Clock) -> None:
    """Each where it happens."""
    one = await create_one(store, retry=RETRY)
    claim = await claim_one(store, one, lease_ms=1_000)
    await store.executions.fail(one, claim.lease, Failure(type="E", message=""))
    await claim_one(store, one, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    await store.executions.cancel(one, "")
    late = await create_one(store, attempt_timeout_ms=500)
    await claim_one(store, late)
    await clock.advance_and_tick(500)
    await create_one(store, deadline_ms=10)
    await clock.advance_and_tick(10)
    assert (await store.queries.pulse()).incidents == {
        "lease_expired": 1,
        "retried": 1,
        "timed_out": 1,
        "deadline_passed": 1,
    }
