"""hf_memory_spaces."""

from __future__ import annotations

from holdfast.store.store import Store


async def test_namespaces_with_items_are_listed(store: Store) -> None:
    """Each once, in order, of one tenant."""
    for key in ("1", "2"):
        await store.memories.put("acme", ("b", "c"), key, b"1")
    await store.memories.put("acme", ("a",), "1", b"1")
    await store.memories.put("other", ("x",), "1", b"1")
    assert await store.memories.namespaces("acme") == [("a",), ("b", "c")]
