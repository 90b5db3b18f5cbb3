"""hf_thread_write."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.threads import put, read, threads, write


async def test_the_first_write_at_a_place_stays(store: Store, dump: Dump) -> None:
    """A repeated call changes nothing, and neither does a second write."""
    await put(store, "1")
    await write(store, "1", b"a", b"b")
    before = dump()
    await write(store, "1", b"a", b"b")
    await write(store, "1", b"c")
    assert dump() == before
    (row,) = await read(store)
    assert [(write.place, write.payload) for write in row.writes] == [(0, b"a"), (1, b"b")]


async def test_writes_at_negative_places_replace_each_other(store: Store) -> None:
    """Errors and interrupts of a task are those of its last try."""
    await put(store, "1")
    await write(store, "1", b"a", place=-1)
    await write(store, "1", b"b", place=-1)
    await write(store, "1", b"c", task="u", place=-1)
    (row,) = await read(store)
    assert [(write.task, write.payload) for write in row.writes] == [("t", b"b"), ("u", b"c")]


async def test_writes_may_come_before_their_checkpoint(store: Store) -> None:
    """They belong to it once it is there, and a thread of writes alone can be removed."""
    await write(store, "1", b"a")
    assert await read(store) == []
    assert await threads(store) == {"one"}
    await put(store, "1")
    (row,) = await read(store)
    assert [write.payload for write in row.writes] == [b"a"]
