"""hf_queue_names."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.store.store import Store


async def test_names_come_in_order_and_in_pages(store: Store, engine: Engine) -> None:
    """A page begins after a name."""
    for name in ("b", "c", "a", "B"):
        await engine.queues.define(name)
    assert await store.queues.names("", 10) == ["B", "a", "b", "c"]
    assert await store.queues.names("a", 1) == ["b"]
    assert await store.queues.names("c", 10) == []
    found = await engine.queues.list(limit=2, after="a")
    assert [queue.name for queue in found] == ["b", "c"]
