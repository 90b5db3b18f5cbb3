"""hf_pin_lookup."""

from __future__ import annotations

from holdfast.model.pins import Finding, Pin
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.pinning import RULES, TTL_MS, key, place, roster

PLACE = place(key())


async def test_no_pin_is_a_miss_that_changes_nothing(store: Store, dump: Dump) -> None:
    """A scope begins with its first pin."""
    before = dump()
    assert await store.pins.lookup(PLACE, roster(1), peek=False) == (Finding.MISS, None)
    assert dump() == before


async def test_a_fresh_hit_writes_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """Most messages of a busy session are reads."""
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    await clock.advance(TTL_MS // 10 - 1)
    before = dump()
    found = await store.pins.lookup(PLACE, roster(1), peek=False)
    assert found == (Finding.HIT, Pin("r1", 1))
    assert dump() == before


async def test_a_later_hit_renews_the_pin(store: Store, clock: Clock) -> None:
    """It lasts for its TTL from then on."""
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    for _ in range(3):
        await clock.advance(TTL_MS - 1)
        found = await store.pins.lookup(PLACE, roster(1), peek=False)
        assert found == (Finding.HIT, Pin("r1", 1))
    await clock.advance(TTL_MS)
    assert await store.pins.lookup(PLACE, roster(1), peek=False) == (Finding.MISS, None)


async def test_a_clock_that_was_set_back_does_not_prolong_a_pin(store: Store, clock: Clock) -> None:
    """The next hit gives it its TTL, not what the old time promised."""
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    await clock.advance(-10 * TTL_MS)
    assert (await store.pins.lookup(PLACE, roster(1), peek=False))[0] is Finding.HIT
    await clock.advance(TTL_MS)
    assert await store.pins.lookup(PLACE, roster(1), peek=False) == (Finding.MISS, None)


async def test_a_pin_that_does_not_hold_is_removed(store: Store, dump: Dump) -> None:
    """A router that still knows the earlier split does not find it either."""
    before = dump()
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    moved = roster(2, {"r2": 2})
    assert await store.pins.lookup(PLACE, moved, peek=False) == (Finding.STALE, None)
    assert await store.pins.lookup(PLACE, roster(1), peek=False) == (Finding.MISS, None)
    assert dump() == before


async def test_a_peek_changes_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """Neither a pin that holds nor one that does not."""
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    await clock.advance(TTL_MS - 1)
    before = dump()
    found = await store.pins.lookup(PLACE, roster(1), peek=True)
    assert found == (Finding.HIT, Pin("r1", 1))
    assert await store.pins.lookup(PLACE, roster(2, {}), peek=True) == (Finding.STALE, None)
    await clock.advance(1)
    assert await store.pins.lookup(PLACE, roster(1), peek=True) == (Finding.MISS, None)
    assert dump() == before


async def test_a_later_pin_is_found_but_not_renewed(store: Store, clock: Clock) -> None:
    """A router that is behind changes nothing about it."""
    await store.pins.try_pin(PLACE, "r2", roster(5), RULES)
    await clock.advance(TTL_MS - 1)
    found = await store.pins.lookup(PLACE, roster(4, {"r1": 1}), peek=False)
    assert found == (Finding.HIT, Pin("r2", 5))
    await clock.advance(1)
    assert await store.pins.lookup(PLACE, roster(5), peek=False) == (Finding.MISS, None)
