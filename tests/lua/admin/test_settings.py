"""hf_admin_settings."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import Dump


async def test_a_new_store_has_no_settings(store: Store) -> None:
    """Defaults are not stored."""
    assert await store.lanes.settings() == {}


async def test_settings_and_lanes_are_read_together(store: Store, dump: Dump) -> None:
    """One hash holds all that operators set; reading it writes nothing."""
    await store.lanes.set_state("mail", "paused")
    await store.lanes.set_retention("acme", {"completed": 0})
    before = dump()
    assert await store.lanes.settings() == {"lane|mail": "paused", "keep|acme|completed": "0"}
    assert dump() == before


async def test_a_partition_tells_its_own_settings(store: Store) -> None:
    """Name, value pairs as stored."""
    tag = next(store.tags())
    await store.caller.write("hf_admin_configure", tag, "priority_ms", "5")
    assert await store.caller.read("hf_admin_settings", tag) == [[b"priority_ms", b"5"]]


async def test_a_setting_that_a_partition_lacks_does_not_count(store: Store) -> None:
    """A write that failed midway is not shown as done."""
    first, *rest = store.tags()
    await store.caller.write("hf_admin_configure", first, "priority_ms", "5")
    assert await store.lanes.settings() == ({} if rest else {"priority_ms": "5"})
