"""hf_key_touch: when keys were last used."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.access import store_key
from tests.support.lifecycle import Dump


async def test_the_last_use_is_noted(store: Store, clock: Clock) -> None:
    """Of each."""
    await store_key(store, "k1")
    await store_key(store, "k2")
    await clock.advance(1_000)
    await store.api_keys.touch(["k1", "k2"])
    assert {key.last_used_at for key in await store.api_keys.list()} == {clock.now}


async def test_an_unknown_key_is_not_made(store: Store, dump: Dump) -> None:
    """It may have been forgotten meanwhile."""
    before = dump()
    await store.api_keys.touch(["k1"])
    assert dump() == before
