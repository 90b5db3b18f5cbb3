"""hf_memory_put."""

from __future__ import annotations

import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump

SPACE = ("users", "ann")


async def test_a_changed_item_keeps_its_birth(store: Store, clock: Clock, dump: Dump) -> None:
    """A repeated call changes nothing at the same time."""
    await store.memories.put("acme", SPACE, "k", b"1")
    before = dump()
    await store.memories.put("acme", SPACE, "k", b"1")
    assert dump() == before
    await clock.advance(5)
    await store.memories.put("acme", SPACE, "k", b"2")
    item = await store.memories.get("acme", SPACE, "k", refresh=False)
    assert item is not None
    assert (item.namespace, item.key, item.value) == (SPACE, "k", b"2")
    assert (item.changed_at - item.created_at).total_seconds() == 0.005


async def test_an_item_ends_when_its_time_is_over(store: Store, clock: Clock, dump: Dump) -> None:
    """To the millisecond; the timer removes it, and a later one without a time stays."""
    empty = {key for key in dump() if not key.endswith(":meta")}
    await store.memories.put("acme", SPACE, "k", b"1", ttl_ms=1_000)
    await clock.advance(999)
    assert await store.memories.get("acme", SPACE, "k", refresh=False)
    await clock.advance(1)
    assert await store.memories.get("acme", SPACE, "k", refresh=False) is None
    await clock.advance_and_tick(0)
    assert {key for key in dump() if not key.endswith(":meta")} == empty

    await store.memories.put("acme", SPACE, "k", b"1", ttl_ms=1_000)
    await store.memories.put("acme", SPACE, "k", b"2")
    await clock.advance_and_tick(5_000)
    assert await store.memories.get("acme", SPACE, "k", refresh=False)


async def test_an_item_that_stays_has_no_timer(store: Store, clock: Clock, dump: Dump) -> None:
    """Also if it was to end before."""
    await store.memories.put("acme", SPACE, "k", b"1")
    before = {key for key in dump() if not key.endswith(":meta")}
    await store.memories.put("acme", SPACE, "k", b"1", ttl_ms=1_000)
    await clock.advance(1)
    await store.memories.put("acme", SPACE, "k", b"1")
    assert {key for key in dump() if not key.endswith(":meta")} == before


async def test_items_of_tenants_are_apart(store: Store) -> None:
    """Two tenants may use the same names."""
    await store.memories.put("acme", SPACE, "k", b"1")
    assert await store.memories.get("other", SPACE, "k", refresh=False) is None


async def test_names_are_checked(store: Store) -> None:
    """Names are text on one line, values have a bound, and times are positive."""
    with pytest.raises(InvalidInput, match="key"):
        await store.memories.put("acme", SPACE, "a\0b", b"1")
    with pytest.raises(TooLarge):
        await store.memories.put("acme", SPACE, "k", bytes(bounds.THREAD_BYTES + 1))
    with pytest.raises(InvalidInput, match="ttl_ms"):
        await store.memories.put("acme", SPACE, "k", b"1", ttl_ms=0)
