"""hf_thread_drop."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.threads import THREAD, put, read, threads, write


async def test_a_dropped_checkpoint_leaves_what_others_need(store: Store, dump: Dump) -> None:
    """Its payload, its writes and its own values go; shared values stay."""
    await put(store, "1", run="r", versions={"a": "1", "b": "1"}, values={"a": b"x", "b": b"spare"})
    await put(store, "2", run="s", versions={"a": "1", "b": "2"}, values={"b": b"z"})
    await write(store, "1", b"scrap")
    assert await store.threads.drop(THREAD, [("", "1"), ("", "0")]) == 1
    (row,) = await read(store)
    assert (row.id, dict(row.values), list(row.writes)) == ("2", {"a": b"x", "b": b"z"}, [])
    assert not [word for word in ("payload 1", "spare", "scrap") if word in str(dump())]
    assert await store.threads.drop_run("acme", "r") == 0

    before = dump()
    assert await store.threads.drop(THREAD, [("", "1")]) == 0
    assert dump() == before


async def test_a_thread_goes_with_its_last_checkpoint(store: Store, dump: Dump) -> None:
    """Nothing is left of it."""
    empty = dump()
    await put(store, "1", run="r", versions={"a": "1"}, values={"a": b"x"})
    assert await store.threads.drop(THREAD, [("", "1")]) == 1
    assert await threads(store) == set()
    assert dump() == empty
