"""hf_schedule_skip."""

from __future__ import annotations

import pytest

from holdfast.errors import ScheduleMoved
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.lifecycle import Dump, refused
from tests.support.scheduling import HOUR_MS, fired, plan, put, read, step


async def test_ticks_are_passed_over(store: Store, clock: Clock) -> None:
    """It stands at the next one, has fired nothing, and says how many it missed and why."""
    schedule = await put(store, plan())
    await store.schedules.skip(schedule, START_MS, START_MS + 3 * HOUR_MS, 3, "lane_draining")
    found = await read(store, "daily")
    assert (found.next_ms, found.missed, found.error) == (
        START_MS + 3 * HOUR_MS,
        3,
        "lane_draining",
    )
    assert await fired(store) == []
    await clock.advance(3 * HOUR_MS)
    assert (await store.schedules.due(store.tag_of("daily"), 1))[1] == [found]


@pytest.mark.parametrize("how", ["unknown", "moved", "changed", "repeated"])
async def test_only_where_it_stands(store: Store, dump: Dump, how: str) -> None:
    """A step from another tick, or of another version, is not taken."""
    schedule = await put(store, plan())
    if how == "unknown":
        await store.schedules.remove("daily")
    elif how == "moved":
        await store.schedules.fire(schedule, [step(0)])
    elif how == "changed":
        await store.schedules.put(plan(jitter_ms=1), 1, START_MS)
    else:
        await store.schedules.skip(schedule, START_MS, START_MS + HOUR_MS, 1)
    call = store.schedules.skip(schedule, START_MS, START_MS + HOUR_MS, 1)
    await refused(call, ScheduleMoved, dump, id="daily")


async def test_after_the_last_tick_nothing_is_due(store: Store, clock: Clock) -> None:
    """A schedule that fires once is finished, not gone."""
    schedule = await put(store, plan(at=clock.now))
    await store.schedules.skip(schedule, START_MS, None, 1)
    found = await read(store, "daily")
    assert (found.next_ms, found.next_at) == (None, None)
    assert await clock.advance_and_tick(100 * HOUR_MS) == 0
