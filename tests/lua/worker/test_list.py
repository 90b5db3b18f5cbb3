"""hf_worker_list."""

from __future__ import annotations

import asyncio

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, register_worker


async def test_no_worker_is_an_empty_list(store: Store) -> None:
    """Nobody is no error."""
    assert await store.workers.list() == []


async def test_workers_are_listed_by_instance(store: Store) -> None:
    """All that are alive, in a stable order."""
    for instance in ("c", "a", "b"):
        await register_worker(store, instance)
    assert [worker.instance for worker in await store.workers.list()] == ["a", "b", "c"]


async def test_a_worker_without_lanes_or_capabilities_has_none(store: Store) -> None:
    """Empty is empty, not one empty name."""
    await register_worker(store, lanes=[], capabilities=[])
    (worker,) = await store.workers.list()
    assert (worker.lanes, worker.capabilities) == ((), ())


async def test_only_the_living_are_listed(store: Store, clock: Clock, dump: Dump) -> None:
    """An expired worker is left out before its timer fires; the look writes nothing."""
    await register_worker(store, "long", ttl_ms=20_000)
    await register_worker(store, "short", ttl_ms=10_000)
    await clock.advance(10_000)
    before = dump()
    assert [worker.instance for worker in await store.workers.list()] == ["long"]
    assert dump() == before


async def test_very_many_workers_are_read_in_parts(store: Store) -> None:
    """No single call reads them all, and none of them is missing."""
    instances = [f"worker-{number:03}" for number in range(450)]
    await asyncio.gather(*(register_worker(store, instance) for instance in instances))
    assert [worker.instance for worker in await store.workers.list()] == instances
    _, *rows = await store.caller.read("hf_worker_list", store.global_tag, "0")
    assert 0 < len(rows) < len(instances)


async def test_a_process_of_the_version_before_reads_all_at_once(store: Store) -> None:
    """It sends no cursor, and expects none."""
    await register_worker(store, "a")
    ((instance, _),) = await store.caller.read("hf_worker_list", store.global_tag)
    assert instance == b"a"
