"""hf_worker_register, and the expiry of workers that no longer beat."""

from __future__ import annotations

from holdfast.model.moments import from_ms
from holdfast.model.workers import Worker
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.lifecycle import Dump, register_worker


async def test_a_worker_is_registered_with_its_description(store: Store) -> None:
    """All it says of itself can be read."""
    answer = await register_worker(
        store, lanes=["a", "b"], capabilities=["gpu", "eu"], busy=3, kinds=("k", "m/n")
    )
    until = from_ms(START_MS + 10_000)
    assert answer == (True, until, False)
    assert await store.workers.list() == [
        Worker(
            instance="w1-a",
            worker="w1",
            lanes=("a", "b"),
            capabilities=("gpu", "eu"),
            slots=4,
            busy=3,
            draining=False,
            registered_at=from_ms(START_MS),
            heartbeat_at=from_ms(START_MS),
            expires_at=until,
            kinds=("k", "m/n"),
        )
    ]


async def test_a_worker_without_kinds_differs_from_one_with_every_kind(store: Store) -> None:
    """The first has no tasks, the second did not say which."""
    await register_worker(store, "none", kinds=())
    await register_worker(store, "every")
    every, none = await store.workers.list()
    assert (every.kinds, none.kinds) == (None, ())
    assert (every.has("k"), none.has("k")) == (True, False)


async def test_a_heartbeat_refreshes_and_replaces_the_description(
    store: Store, clock: Clock
) -> None:
    """It is not new, it lives on from now, and what it says now counts."""
    await register_worker(store, capabilities=["gpu"])
    await clock.advance(4_000)
    answer = await register_worker(store, capabilities=[], busy=2)
    assert answer == (False, from_ms(START_MS + 14_000), False)
    (worker,) = await store.workers.list()
    assert (worker.capabilities, worker.busy) == ((), 2)
    assert worker.registered_at == from_ms(START_MS)
    assert worker.heartbeat_at == from_ms(START_MS + 4_000)


async def test_a_repeated_registration_changes_nothing(store: Store, dump: Dump) -> None:
    """At the same instant the second says what the first said."""
    first = await register_worker(store)
    before = dump()
    assert (await register_worker(store))[1:] == first[1:]
    assert dump() == before


async def test_a_worker_that_is_asked_to_drain_learns_it_by_its_heartbeat(store: Store) -> None:
    """And keeps being told so."""
    await register_worker(store)
    await store.workers.drain("w1-a")
    assert (await register_worker(store))[2]
    assert (await register_worker(store))[2]


async def test_a_silent_worker_expires(store: Store, clock: Clock, dump: Dump) -> None:
    """It is gone with its time, and so is every trace of it when the timer has fired."""
    empty = dump()
    await register_worker(store)
    await clock.advance_and_tick(9_999)
    assert [worker.instance for worker in await store.workers.list()] == ["w1-a"]
    await clock.advance(1)
    assert await store.workers.list() == []
    assert await clock.advance_and_tick(0) == 1
    left = {key for key in dump() if not key.endswith(":meta")}
    assert left == {key for key in empty if not key.endswith(":meta")}


async def test_a_beating_worker_outlives_its_first_timer(store: Store, clock: Clock) -> None:
    """Each heartbeat moves its end."""
    await register_worker(store)
    for _ in range(3):
        await clock.advance_and_tick(9_000)
        await register_worker(store)
    assert len(await store.workers.list()) == 1


async def test_an_expired_worker_that_comes_back_is_new(store: Store, clock: Clock) -> None:
    """Its drain does not outlive it."""
    await register_worker(store)
    await store.workers.drain("w1-a")
    await clock.advance_and_tick(10_000)
    assert await register_worker(store) == (True, from_ms(clock.now_ms + 10_000), False)


async def test_a_worker_that_comes_back_before_the_timer_fires_is_new(
    store: Store, clock: Clock
) -> None:
    """Whether anybody has ticked since makes no difference."""
    await register_worker(store)
    await store.workers.drain("w1-a")
    await clock.advance(10_000)
    assert await register_worker(store) == (True, from_ms(clock.now_ms + 10_000), False)
