"""hf_thread_list."""

from __future__ import annotations

from holdfast.model.threads import Thread
from holdfast.store.store import Store
from tests.support.threads import put, threads


async def test_threads_are_listed_by_tenant(store: Store) -> None:
    """In order, after a name, and no more than asked for."""
    for name in ("a", "b", "c"):
        await put(store, "1", thread=Thread("acme", name))
    assert await threads(store) == {"a", "b", "c"}
    assert await threads(store, "other") == set()
    tag = store.tag_of(Thread("acme", "a").stored)
    (first,) = await store.caller.read("hf_thread_list", tag, "acme", "", "1")
    (rest,) = await store.caller.read("hf_thread_list", tag, "acme", first[0], "100")
    assert first[0] not in rest
