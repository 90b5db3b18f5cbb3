"""hf_object_list."""

from __future__ import annotations

from holdfast.store.store import Store


async def test_names_come_in_order_with_their_sizes(store: Store) -> None:
    """Only those with the prefix."""
    for name in ("b/2", "a/1", "b/10", "c", "b"):
        await store.objects.put(name, name.encode(), "")
    assert [row async for row in store.objects.list("b/")] == [("b/10", 4), ("b/2", 3)]
    assert [name async for name, _ in store.objects.list("")] == ["a/1", "b", "b/10", "b/2", "c"]
    assert [row async for row in store.objects.list("x")] == []


async def test_a_long_list_comes_in_pages(store: Store) -> None:
    """Each name once."""
    names = [f"k/{number:04}" for number in range(1_001)]
    for name in names:
        await store.objects.put(name, b"", "")
    assert [name async for name, _ in store.objects.list("k/")] == names
