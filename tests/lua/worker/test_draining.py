"""hf_worker_draining."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import register_worker


async def test_only_one_that_was_asked(store: Store) -> None:
    """Not one that works, and not one that was never there."""
    await register_worker(store, "w1-a")
    await register_worker(store, "w1-b")
    await store.workers.drain("w1-a")
    found = [await store.workers.is_draining(one) for one in ("w1-a", "w1-b", "nobody")]
    assert found == [True, False, False]


async def test_another_tenants_worker_is_another(store: Store) -> None:
    """Names of workers may be the same."""
    await register_worker(store, "w1-a", tenant="ours")
    await store.workers.drain("w1-a")
    assert await store.workers.is_draining("w1-a", "ours")
    assert not await store.workers.is_draining("w1-a", "theirs")
    assert not await store.workers.is_draining("w1-a")


async def test_one_that_is_gone_may_come_back(store: Store, clock: Clock) -> None:
    """A new process under the old name works."""
    await register_worker(store, "w1-a", ttl_ms=10_000)
    await store.workers.drain("w1-a")
    await clock.advance(10_000)
    assert not await store.workers.is_draining("w1-a")
