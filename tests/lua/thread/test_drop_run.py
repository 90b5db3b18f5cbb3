"""hf_thread_drop_run."""

from __future__ import annotations

from holdfast.model.threads import Thread
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.threads import ids, put

SECOND, OTHER = Thread("acme", "two"), Thread("other", "one")


async def test_a_run_is_dropped_in_all_threads_of_its_tenant(store: Store, dump: Dump) -> None:
    """Checkpoints of other runs and other tenants stay; a repeated call finds nothing."""
    await put(store, "1", run="r")
    await put(store, "2", run="s")
    await put(store, "3", run="r", thread=SECOND)
    await put(store, "4", run="r", thread=OTHER)
    assert await store.threads.drop_run("acme", "r") == 2
    assert (await ids(store), await ids(store, SECOND)) == (["2"], [])
    assert await ids(store, OTHER) == ["4"]
    before = dump()
    assert await store.threads.drop_run("acme", "r") == 0
    assert dump() == before
