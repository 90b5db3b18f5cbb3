"""hf_thread_read."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.threads import THREAD, put


async def test_checkpoints_come_last_first(store: Store) -> None:
    """By id, before an id, and page by page."""
    for id in ("1", "2", "3"):
        await put(store, id)
    await put(store, "9", namespace="child")
    read = store.threads.read
    assert [row.id for row in await read(THREAD, namespace="")] == ["3"]
    assert [row.id for row in await read(THREAD, namespace="", checkpoint="2")] == ["2"]
    assert [row.id for row in await read(THREAD, namespace="", before="3", limit=9)] == ["2", "1"]
    assert [row.id for row in await read(THREAD, namespace="child", limit=9)] == ["9"]
    assert await read(THREAD, namespace="", checkpoint="4") == []
    rows = await read(THREAD, limit=2)
    assert [(row.namespace, row.id) for row in rows] == [("child", "9"), ("", "3")]
    rows = await read(THREAD, before="\x003", limit=9)
    assert [row.id for row in rows] == ["2", "1"]


async def test_namespaces_that_begin_alike_are_apart(store: Store) -> None:
    """A namespace is no prefix of another."""
    await put(store, "1", namespace="a")
    await put(store, "2", namespace="a:b")
    assert [row.id for row in await store.threads.read(THREAD, namespace="a", limit=9)] == ["1"]
