"""hf_key_list: all keys."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.access import store_key


async def test_keys_are_listed_oldest_first(store: Store, clock: Clock) -> None:
    """Also those that have ended."""
    assert await store.api_keys.list() == []
    await store_key(store, "k2", ttl_ms=1)
    await clock.advance(5)
    await store_key(store, "k1", tenant="acme")
    await store.api_keys.revoke("k1", None)
    assert [key.id for key in await store.api_keys.list()] == ["k2", "k1"]
