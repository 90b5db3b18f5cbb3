"""hf_memory_read."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock


async def found(store: Store, *prefix: str) -> list[str]:
    items = store.memories.search("acme", prefix, refresh=False)
    return sorted([f"{'.'.join(item.namespace)}/{item.key}" async for item in items])


async def test_a_search_finds_what_is_below_a_prefix(store: Store) -> None:
    """A namespace itself, those within it, and none that only begins alike."""
    for name in ("a", "a.b", "a.b.c", "a.bc", "d"):
        await store.memories.put("acme", tuple(name.split(".")), "k", b"1")
    assert await found(store, "a", "b") == ["a.b.c/k", "a.b/k"]
    assert await found(store, "a") == ["a.b.c/k", "a.b/k", "a.bc/k", "a/k"]
    assert len(await found(store)) == 5
    assert await found(store, "x", "y") == []


async def test_long_searches_go_page_by_page(store: Store) -> None:
    """More items than a call returns."""
    for number in range(450):
        await store.memories.put("acme", ("a", "b"), f"{number:03}", b"1")
    assert len(await found(store, "a", "b")) == 450


async def test_reading_begins_the_time_again(store: Store, clock: Clock) -> None:
    """Only if it is asked for."""
    await store.memories.put("acme", ("a",), "k", b"1", ttl_ms=1_000)
    await clock.advance(600)
    assert await store.memories.get("acme", ("a",), "k", refresh=True)
    await clock.advance_and_tick(600)
    assert await store.memories.get("acme", ("a",), "k", refresh=False)
    await clock.advance_and_tick(400)
    assert await store.memories.get("acme", ("a",), "k", refresh=False) is None
