"""hf_key_find: a key by its id, and how many there are."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.access import store_key


async def test_a_key_is_found_by_its_id(store: Store, clock: Clock) -> None:
    """With the time of the store."""
    key = await store_key(store)
    await store_key(store, "k2")
    found = await store.api_keys.find("k1")
    assert (found.key, found.count, found.now) == (key, 2, clock.now)


async def test_an_unknown_key_is_none(store: Store) -> None:
    """An empty store has none, an unknown id is none either."""
    assert (await store.api_keys.find("")).count == 0
    await store_key(store)
    found = await store.api_keys.find("other")
    assert (found.key, found.count) == (None, 1)
