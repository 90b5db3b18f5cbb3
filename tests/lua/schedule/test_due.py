"""hf_schedule_due, and how those who fire are told."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from holdfast.testing.polling import wait_for
from tests.support.scheduling import HOUR_MS, plan, put, read, step


@pytest.fixture
async def told(store: Store) -> AsyncIterator[list[str]]:
    """The partitions in which something was said to be due."""
    heard: list[str] = []
    by_channel = {channels.schedules(tag): tag for tag in store.tags()}

    def on_due(channel: str, _message: str) -> None:
        heard.append(by_channel[channel])

    await store.subscriptions.add(by_channel, on_due)
    yield heard
    await store.subscriptions.remove(by_channel, on_due)


async def test_what_is_due_is_found(store: Store, clock: Clock) -> None:
    """With the time, and no more than asked for."""
    await put(store, plan("a"), START_MS + 2_000)
    tag = store.tag_of("a")
    assert await store.schedules.due(tag, 10) == (START_MS, [])
    await clock.advance(2_000)
    now, (found,) = await store.schedules.due(tag, 10)
    assert (now, found.id, found.next_ms) == (clock.now_ms, "a", START_MS + 2_000)
    assert (await store.schedules.due(tag, 0))[1] == []


async def test_schedulers_are_told_until_somebody_fires(
    store: Store, clock: Clock, told: list[str]
) -> None:
    """At its time, and again every five seconds: messages may be lost."""
    schedule = await put(store, plan(), START_MS + 1_000)
    tag = store.tag_of("daily")

    async def heard(count: int) -> None:
        async def enough() -> bool:
            return len(told) >= count

        await wait_for(enough)
        assert told == [tag] * count

    assert await clock.advance_and_tick(999) == 0
    assert await clock.advance_and_tick(1) == 1
    await heard(1)
    assert await clock.advance_and_tick(4_999) == 0
    assert await clock.advance_and_tick(1) == 1
    await heard(2)
    start = START_MS + 1_000
    await store.schedules.fire(
        schedule, [step(0, start=start, tick=start, next=START_MS + HOUR_MS)]
    )
    assert await clock.advance_and_tick(5_000) == 0
    assert (await read(store, "daily")).next_ms == START_MS + HOUR_MS
    assert await clock.advance_and_tick(HOUR_MS) == 1
    await heard(3)


async def test_a_paused_or_deleted_schedule_is_silent(
    store: Store, clock: Clock, told: list[str]
) -> None:
    """Its timer goes with it."""
    await put(store, plan("a"), START_MS + 1_000)
    await put(store, plan("b"), START_MS + 1_000)
    await store.schedules.remove("a")
    await store.schedules.put(plan("b", paused=True), 1, None)
    assert await clock.advance_and_tick(10_000) == 0
    assert told == []
