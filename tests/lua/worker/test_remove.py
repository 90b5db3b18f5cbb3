"""hf_worker_remove."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, register_worker


async def test_a_removed_worker_is_gone_without_trace(store: Store, dump: Dump) -> None:
    """Its record, its place in the registry and its timer."""
    empty = dump()
    await register_worker(store)
    await store.workers.drain("w1-a")
    assert await store.workers.remove("w1-a")
    assert dump() == empty


async def test_removing_twice_finds_nothing(store: Store, dump: Dump) -> None:
    """The second call says that there was nobody, and is no error."""
    await register_worker(store, "w1-b")
    await register_worker(store, "w1-a")
    await store.workers.remove("w1-a")
    before = dump()
    assert not await store.workers.remove("w1-a")
    assert dump() == before
    assert [worker.instance for worker in await store.workers.list()] == ["w1-b"]


async def test_a_removed_worker_that_comes_back_is_new(store: Store, clock: Clock) -> None:
    """It starts without the drain of its former life."""
    await register_worker(store)
    await store.workers.drain("w1-a")
    await store.workers.remove("w1-a")
    is_new, _, draining = await register_worker(store)
    assert (is_new, draining) == (True, False)
