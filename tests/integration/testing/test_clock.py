"""The clock of a test's store."""

from __future__ import annotations

from datetime import timedelta

from holdfast.engine import Engine
from holdfast.model.states import State
from holdfast.testing import Clock, TestStore


async def test_the_clock_moves_by_any_unit(holdfast_clock: Clock) -> None:
    """Units add up; a plain number is ms."""
    before = holdfast_clock.now
    await holdfast_clock.advance(5, seconds=1, minutes=1, hours=1, days=1)
    moved = holdfast_clock.now - before
    assert moved == timedelta(days=1, hours=1, minutes=1, seconds=1, milliseconds=5)


async def test_the_store_has_the_time_of_its_clock(
    holdfast_engine: Engine, holdfast_clock: Clock
) -> None:
    """What is submitted carries the set time."""
    await holdfast_clock.advance(days=400)
    submitted = await holdfast_engine.submit("work")
    assert (await holdfast_engine.describe(submitted.id)).created_at == holdfast_clock.now


async def test_nothing_fires_until_a_tick(holdfast_engine: Engine, holdfast_clock: Clock) -> None:
    """A due timer waits for the test."""
    submitted = await holdfast_engine.submit("work", delay_ms=1_000)
    await holdfast_clock.advance(seconds=1)
    assert (await holdfast_engine.describe(submitted.id)).state is State.DELAYED
    assert await holdfast_clock.tick() == 1
    assert (await holdfast_engine.describe(submitted.id)).state is State.WAITING


async def test_the_clock_moves_leases(holdfast_engine: Engine, holdfast_clock: Clock) -> None:
    """A lease that nobody renews expires when the clock says so."""
    submitted = await holdfast_engine.submit("work")
    async with holdfast_engine.claimer(worker="w1") as claimer:
        assert len(await claimer.claim(1, 30_000)) == 1
    assert await holdfast_clock.advance_and_tick(29_999) == 0
    assert await holdfast_clock.advance_and_tick(1) == 1
    assert (await holdfast_engine.describe(submitted.id)).reclaims == 1


async def test_a_fresh_store_starts_at_the_same_time(holdfast_store: TestStore) -> None:
    """Runs that are to be compared begin alike."""
    start = holdfast_store.clock.now
    await holdfast_store.clock.advance(days=1)
    other = await holdfast_store.fresh()
    assert other.clock.now == start
    assert other.prefix != holdfast_store.prefix
