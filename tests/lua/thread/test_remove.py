"""hf_thread_remove."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.threads import THREAD, put, write


async def test_nothing_is_left_of_a_thread(store: Store, dump: Dump) -> None:
    """Checkpoints, values, writes, runs and the timer go; a repeated call changes nothing."""
    empty = dump()
    await put(store, "1", run="r", ttl_ms=1_000, versions={"a": "1"}, values={"a": b"x"})
    await write(store, "1", b"w")
    await store.threads.remove(THREAD)
    left = {key: value for key, value in dump().items() if not key.endswith(":meta")}
    assert left == {key: value for key, value in empty.items() if not key.endswith(":meta")}
    await store.threads.remove(THREAD)
