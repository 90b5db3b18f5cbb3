"""hf_schedule_read."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.scheduling import plan, put, step


async def test_what_is_not_there_is_none_at_a_time(store: Store, clock: Clock) -> None:
    """The time is what a new schedule counts from."""
    await clock.advance(1234)
    assert await store.schedules.read("nobody") == (clock.now_ms, None)


async def test_it_counts_what_runs_and_what_waits(store: Store) -> None:
    """Of all that it fired."""
    schedule = await put(store, plan(overlap="queue"))
    await store.schedules.fire(schedule, [step(0), step(1), step(2)])
    _, found = await store.schedules.read("daily")
    assert found is not None
    assert (found.running, found.queued, found.fired) == (1, 2, 3)
