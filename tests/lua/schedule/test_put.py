"""hf_schedule_put."""

from __future__ import annotations

import dataclasses

import pytest

from holdfast.errors import ScheduleChanged, ScheduleConflict, ScheduleNotFound
from holdfast.store import schedules as module
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.lifecycle import Dump, refused
from tests.support.scheduling import plan, put, read


async def test_a_schedule_comes_back_as_it_was_put(store: Store, clock: Clock) -> None:
    """All that it says, where it stands, and when it was made."""
    made = plan(overlap="queue", catch_up="all", jitter_ms=5_000)
    found = await put(store, made, START_MS + 60_000)
    assert (found.plan, found.version, found.next_ms) == (made, 1, START_MS + 60_000)
    assert (found.created_at, found.changed_at) == (clock.now, clock.now)
    assert (found.fired, found.skipped, found.missed) == (0, 0, 0)
    assert (found.last_at, found.last_execution, found.error) == (None, None, None)


async def test_the_same_again_changes_nothing(store: Store, dump: Dump, clock: Clock) -> None:
    """Whether it is paused meanwhile or not."""
    made = plan()
    await put(store, made)
    await clock.advance(1_000)
    before = dump()
    assert await store.schedules.put(made, None, START_MS + 1) == "same"
    assert dump() == before
    paused = dataclasses.replace(made, paused=True)
    assert await store.schedules.put(paused, 1, None) == "replaced"
    assert await store.schedules.put(made, None, START_MS + 1) == "same"
    assert (await read(store, made.id)).plan.paused


async def test_another_content_under_its_id_is_a_conflict(store: Store, dump: Dump) -> None:
    """Unless it says which version it replaces."""
    await put(store, plan())
    other = plan(cron="30 * * * *")
    await refused(store.schedules.put(other, None, START_MS), ScheduleConflict, dump, id="daily")
    assert await store.schedules.put(other, 1, START_MS + 5) == "replaced"
    found = await read(store, "daily")
    assert (found.plan, found.version, found.next_ms) == (other, 2, START_MS + 5)


async def test_a_version_is_replaced_once(store: Store, dump: Dump) -> None:
    """Whoever comes second must look again."""
    await put(store, plan())
    await store.schedules.put(plan(jitter_ms=1), 1, START_MS)
    call = store.schedules.put(plan(jitter_ms=2), 1, START_MS)
    await refused(call, ScheduleChanged, dump, id="daily")


async def test_what_is_not_there_cannot_be_replaced(store: Store, dump: Dump) -> None:
    """It was deleted, say."""
    await refused(store.schedules.put(plan(), 1, START_MS), ScheduleNotFound, dump, id="daily")


async def test_a_repeated_call_gets_its_answer_again(
    store: Store, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same request, created and replaced."""
    monkeypatch.setattr(module, "new_id", lambda: "first")
    assert await store.schedules.put(plan(), None, START_MS) == "created"
    before = dump()
    assert await store.schedules.put(plan(), None, START_MS) == "created"
    assert dump() == before
    monkeypatch.setattr(module, "new_id", lambda: "second")
    assert await store.schedules.put(plan(jitter_ms=1), 1, START_MS) == "replaced"
    before = dump()
    assert await store.schedules.put(plan(jitter_ms=1), 1, START_MS) == "replaced"
    assert dump() == before


async def test_it_is_due_when_its_jitter_is_over(store: Store, clock: Clock) -> None:
    """The tick is the tick; what waits is the timer."""
    made = plan(jitter_ms=50_000)
    await put(store, made)
    tag = store.tag_of(made.id)
    wait = made.due(START_MS) - START_MS
    assert 0 < wait <= 50_000
    await clock.advance(wait - 1)
    assert await store.schedules.due(tag, 10) == (clock.now_ms, [])
    await clock.advance(1)
    assert [s.id for s in (await store.schedules.due(tag, 10))[1]] == ["daily"]
    await store.schedules.put(dataclasses.replace(made, paused=True), 1, None)
    assert (await store.schedules.due(tag, 10))[1] == []
