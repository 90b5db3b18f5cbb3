"""hf_worker_drain."""

from __future__ import annotations

from holdfast.errors import WorkerNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused, register_worker


async def test_a_draining_worker_is_shown_as_such(store: Store) -> None:
    """Only the one that was named; it serves nothing any more."""
    await register_worker(store, "w1-a")
    await register_worker(store, "w1-b")
    await store.workers.drain("w1-a")
    first, second = await store.workers.list()
    assert (first.draining, second.draining) == (True, False)
    assert (first.serves("default", "t"), second.serves("default", "t")) == (False, True)


async def test_draining_twice_changes_nothing(store: Store, dump: Dump) -> None:
    """The second call is answered like the first."""
    await register_worker(store)
    await store.workers.drain("w1-a")
    before = dump()
    await store.workers.drain("w1-a")
    assert dump() == before


async def test_draining_does_not_keep_a_worker_alive(store: Store, clock: Clock) -> None:
    """It expires when it would have."""
    await register_worker(store)
    await clock.advance(9_000)
    await store.workers.drain("w1-a")
    await clock.advance_and_tick(1_000)
    assert await store.workers.list() == []


async def test_an_unknown_worker_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong name has its own code."""
    await refused(store.workers.drain("nobody"), WorkerNotFound, dump, instance="nobody")


async def test_an_expired_worker_is_not_found(store: Store, clock: Clock, dump: Dump) -> None:
    """Before and after its timer has fired."""
    await register_worker(store)
    await clock.advance(10_000)
    await refused(store.workers.drain("w1-a"), WorkerNotFound, dump, instance="w1-a")
    await clock.advance_and_tick(0)
    await refused(store.workers.drain("w1-a"), WorkerNotFound, dump, instance="w1-a")
