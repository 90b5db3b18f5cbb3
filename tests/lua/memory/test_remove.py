"""hf_memory_remove."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import Dump

SPACE = ("users", "ann")


async def test_nothing_is_left_of_an_item(store: Store, dump: Dump) -> None:
    """Its namespace goes with the last item; a repeated call finds none."""
    empty = {key for key in dump() if not key.endswith(":meta")}
    await store.memories.put("acme", SPACE, "a", b"1", ttl_ms=1_000)
    await store.memories.put("acme", SPACE, "b", b"1")
    assert await store.memories.remove("acme", SPACE, "a")
    assert await store.memories.namespaces("acme") == [SPACE]
    assert await store.memories.remove("acme", SPACE, "b")
    assert not await store.memories.remove("acme", SPACE, "b")
    assert {key for key in dump() if not key.endswith(":meta")} == empty
