"""hf_admin_configure."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import Dump


async def test_settings_are_set_and_replaced(store: Store) -> None:
    """Several in one call; the last value counts; the rest stays."""
    await store.lanes.set_weights("mail", {"acme": 2.5, "zoo": 3})
    await store.lanes.set_weights("mail", {"zoo": 4})
    await store.lanes.set_priority_ms(1_000)
    await store.lanes.set_retention("*", {"failed": 5_000})
    assert await store.lanes.settings() == {
        "weight|mail|acme": "2.5",
        "weight|mail|zoo": "4",
        "priority_ms": "1000",
        "keep|*|failed": "5000",
    }


async def test_an_empty_value_goes_back_to_the_default(store: Store, dump: Dump) -> None:
    """The setting is gone, and with the last one the key that held them."""
    before = dump()
    await store.lanes.set_weights("mail", {"acme": 2, "zoo": 3})
    await store.lanes.set_weights("mail", {"acme": None, "unset": None})
    assert await store.lanes.settings() == {"weight|mail|zoo": "3"}
    await store.lanes.set_weights("mail", {"zoo": None})
    assert dump() == before


async def test_the_same_settings_again_change_nothing(store: Store, dump: Dump) -> None:
    """Each write may be sent twice."""
    await store.lanes.set_weights("mail", {"acme": 2, "zoo": None})
    before = dump()
    await store.lanes.set_weights("mail", {"acme": 2, "zoo": None})
    assert dump() == before


async def test_settings_hold_in_every_partition(store: Store, dump: Dump) -> None:
    """Each partition decides by itself, so each has them."""
    await store.lanes.set_priority_ms(1_000)
    found = dump()
    for tag in store.tags():
        assert found[f"{tag}:settings"] == {b"priority_ms": b"1000"}
