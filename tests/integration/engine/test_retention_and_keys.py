"""Keys, retention, idempotency, the registry, boot; the table is in test_lease_guarantees.py."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import IdempotencyConflict, LaneDraining, StoreFault, WorkerNotFound
from holdfast.model.executions import Failure, NewExecution
from holdfast.model.moments import from_ms
from holdfast.model.partitions import partition_of
from holdfast.model.retry import RetryPolicy
from holdfast.model.states import State
from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.urls import StoreUrl
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_in, claim_one

Dump = Callable[[], dict[str, object]]
DAY_MS = 86_400_000
BOOM = Failure(type="Boom", message="x" * 200)


async def _live_fully(engine: Engine, clock: Clock, end: str, **fields: Any) -> str:
    """Lead an execution through all that leaves keys, and end it."""
    made = await engine.submit(
        "work",
        input=b"i" * 100,
        tags={"team": "a", "long": "x" * 200},
        requires=["gpu"],
        retry=RetryPolicy(max_attempts=2),
        deadline_ms=600_000,
        attempt_timeout_ms=300_000,
        **fields,
    )
    options = {"capabilities": ["gpu"]}
    claim = await claim_one(engine.store, made.id, **options)
    await engine.progress(made.id, claim.lease, 10, "a message")
    await engine.checkpoint(made.id, claim.lease, "step", b"s" * 100)
    await engine.fail(made.id, claim.lease, BOOM)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(engine.store, made.id, **options)
    await engine.store.executions.watch(made.id, "somebody")
    if end == "completed":
        await engine.complete(made.id, claim.lease, b"r" * 100, content_type="text/plain")
    elif end == "failed":
        await engine.fail(made.id, claim.lease, BOOM)
    elif end == "cancelled":
        await engine.cancel(made.id, "enough")
    else:
        await clock.advance_and_tick(600_000)
    assert (await engine.describe(made.id)).state == end
    return made.id


def _without_meta(keys: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in keys.items() if not name.endswith(":meta")}


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled", "expired"])
@pytest.mark.parametrize("key", [None, "order 1"])
async def test_retention_leaves_no_key(
    engine: Engine, clock: Clock, dump: Dump, end: str, key: str | None
) -> None:
    """Nothing that an execution owned is left, in whatever way it ended."""
    before = _without_meta(dump())
    made = await _live_fully(engine, clock, end, retention_ms=5_000, idempotency_key=key)
    await clock.advance_and_tick(4_999)
    assert (await engine.describe(made)).state == end
    await clock.advance_and_tick(1)
    assert _without_meta(dump()) == before


async def test_retention_leaves_only_the_binding_of_a_named_key_and_that_ends(
    engine: Engine, clock: Clock, dump: Dump, client: Client
) -> None:
    """The key of a named execution lives in another partition, so it goes by its own clock."""
    before = _without_meta(dump())
    made = await engine.submit("work", id="mine", idempotency_key="k", retention_ms=0)
    await engine.cancel(made.id)
    await clock.advance_and_tick(1)
    left = set(_without_meta(dump())) - set(before)
    assert all(":alias:" in name for name in left)
    for name in left:
        assert await client.call(["PTTL", name]) > 0


async def test_retention_keeps_up(engine: Engine, clock: Clock) -> None:
    """Thousands that end together are gone in one run of ticks, a bounded number in each."""
    items = [NewExecution(kind="work", id=f"root~{n}", retention_ms=0) for n in range(600)]
    await engine.submit_many(items)
    await asyncio.gather(*(engine.cancel(str(item.id)) for item in items))
    tag = engine.store.tag_of("root")
    fired, sleep_ms = await engine.store.timers.tick(tag, 100)
    assert (fired, sleep_ms) == (100, 0)
    await clock.advance_and_tick(0)
    assert await engine.count() == []


async def test_retention_is_by_outcome_and_tenant(engine: Engine, clock: Clock) -> None:
    """First the execution's own word, then its tenant's, then everybody's, then the default."""
    await engine.lanes.set_retention({"cancelled": 3 * DAY_MS})
    await engine.lanes.set_retention({"cancelled": 2 * DAY_MS}, tenant="acme")
    made = {
        1: await engine.submit("work", tenant="acme", retention_ms=DAY_MS),
        2: await engine.submit("work", tenant="acme"),
        3: await engine.submit("work", tenant="other"),
    }
    for one in made.values():
        await engine.cancel(one.id)
    for days, one in made.items():
        assert (await engine.describe(one.id)).forget_at == from_ms(clock.now_ms + days * DAY_MS)
    await engine.lanes.set_retention({"cancelled": None})
    plain = await engine.submit("work", tenant="other")
    await engine.cancel(plain.id)
    assert (await engine.describe(plain.id)).forget_at == from_ms(clock.now_ms + 7 * DAY_MS)


async def test_zero_is_a_number(engine: Engine, clock: Clock) -> None:
    """A delay of zero starts at once, a retention of zero forgets at the next tick."""
    made = await engine.submit("work", delay_ms=0, retention_ms=0)
    assert made.state is State.WAITING
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease, b"")
    assert await engine.result(made.id, timeout_s=5) == b""
    assert await clock.advance_and_tick(0) == 1
    assert await engine.count() == []


OTHER_ID = ["before", "after"]


@pytest.mark.parametrize("named", OTHER_ID)
async def test_a_key_is_honoured_whatever_id_comes_with_it(engine: Engine, named: str) -> None:
    """A repeated call may name another id, in another partition, or none: it is one execution."""
    ids: list[str | None] = [*(f"id{n}" for n in range(8)), None]
    if named == "after":
        ids.reverse()
    answers = [await engine.submit("work", id=i, idempotency_key="order 1") for i in ids]
    assert {answer.id for answer in answers} == {answers[0].id}
    assert [answer.duplicate for answer in answers] == [False] + [True] * 8
    if engine.store.partitions > 1:
        assert len({partition_of(f"id{n}", engine.store.partitions) for n in range(8)}) > 1
    with pytest.raises(IdempotencyConflict):
        await engine.submit("work", id="id9", idempotency_key="order 1", input=b"other")
    assert sum(c.count for c in await engine.count()) == 1


@pytest.mark.parametrize("again", [{}, {"id": "mine"}, {"id": "other"}])
async def test_a_key_is_free_after_its_execution_is_forgotten(
    engine: Engine, clock: Clock, again: dict[str, str]
) -> None:
    """A key is held as long as the execution is kept, and no longer."""
    made = await engine.submit("work", id="mine", idempotency_key="k", retention_ms=0)
    await engine.cancel(made.id)
    await clock.advance_and_tick(1)
    fresh = await engine.submit("work", idempotency_key="k", retention_ms=0, **again)
    assert not fresh.duplicate
    assert (await engine.describe(fresh.id)).state is State.WAITING


@pytest.mark.parametrize("again", [{}, {"id": "mine"}, {"id": "other"}])
async def test_a_refused_submission_does_not_keep_its_key(
    engine: Engine, again: dict[str, str]
) -> None:
    """Nothing was created, so the key stands for nothing."""
    await engine.lanes.drain("default")
    with pytest.raises(LaneDraining):
        await engine.submit("work", id="mine", idempotency_key="k")
    await engine.lanes.resume("default")
    fresh = await engine.submit("work", idempotency_key="k", **again)
    assert (await engine.describe(fresh.id)).state is State.WAITING


@pytest.mark.parametrize("again", [{}, {"id": "mine"}, {"id": "other"}])
async def test_a_crash_between_binding_and_creating_does_not_block_the_key(
    engine: Engine, again: dict[str, str]
) -> None:
    """The next call with the key makes the execution."""
    item = NewExecution(kind="work", id="mine", idempotency_key="k")
    assert await engine.store.executions._bind_key(item, "mine") is None
    fresh = await engine.submit("work", idempotency_key="k", **again)
    assert (await engine.describe(fresh.id)).state is State.WAITING
    assert sum(c.count for c in await engine.count()) == 1


async def test_a_named_key_is_held_as_long_as_its_execution_waits(
    engine: Engine, dump: Dump, client: Client
) -> None:
    """A key that ends before its execution starts would let it be submitted twice."""
    await engine.submit("work", id="mine", idempotency_key="k", delay_ms=30 * DAY_MS)
    for name in dump():
        assert await client.call(["PTTL", name]) not in range(30 * DAY_MS), name


async def test_every_key_carries_the_tag_of_its_partition(
    engine: Engine, clock: Clock, dump: Dump
) -> None:
    """No key can fall into another slot than that of its execution."""
    made = await _live_fully(engine, clock, "completed")
    await engine.workers.register("i", worker="w", lanes=["a"])
    place = engine.store.tag_of(made)
    for name in dump():
        assert name.startswith(tuple(f"{tag}:" for tag in engine.store.timed_tags()))
        assert made not in name or name.startswith(f"{place}:")


async def test_every_index_is_fed(engine: Engine, clock: Clock, dump: Dump) -> None:
    """Each kind of key that keys.lua knows has a writer."""
    await _live_fully(engine, clock, "completed")
    running = await engine.submit("work", input=b"i" * 100, tags={"t": "x" * 200})
    claim = await claim_one(engine.store, running.id)
    await engine.progress(running.id, claim.lease, 1, "note")
    await engine.checkpoint(running.id, claim.lease, "s", b"1")
    await engine.store.executions.watch(running.id, "somebody")
    root = await engine.submit("work", id="root~1")
    await engine.submit("work", id="root~2", idempotency_key="k", deadline_ms=1_000)
    await claim_in(engine.store, engine.store.tag_of(root.id))
    await engine.lanes.pause("bulk")
    await engine.workers.register("i", worker="w", lanes=["a"])
    fed = {re.split(r"}:", name, maxsplit=1)[1].split(":")[0] for name in dump()}
    one_of_each = {"tenants", "timers", "settings", "meta", "workers"}
    of_executions = {"x", "i", "r", "t", "n", "l", "s", "w"}
    of_lists_and_queues = {"cells", "c", "g", "routes", "pass", "turns", "q"}
    assert one_of_each | of_executions | of_lists_and_queues | {"alias", "worker"} <= fed


async def test_the_clock_of_the_client_plays_no_part(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client whose clock is years off gets the store's times and the store's order."""
    first = await engine.submit("work")
    await clock.advance(1)
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000_000_000)
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    second = await engine.submit("work", delay_ms=500)
    known = await engine.describe(second.id)
    assert known.created_at == from_ms(clock.now_ms)
    assert known.run_at == from_ms(clock.now_ms + 500)
    assert [one.id for one in (await engine.list()).items] == [second.id, first.id]


async def test_many_who_wait_leave_the_connection_free(engine: Engine) -> None:
    """Waiting blocks no call: 300 waiters, and a submission goes through at once."""
    made = [await engine.submit("work") for _ in range(10)]
    waiting = [
        asyncio.ensure_future(engine.wait(made[n % 10].id, timeout_s=30)) for n in range(300)
    ]
    await asyncio.wait(waiting, timeout=0.1)
    started = asyncio.get_running_loop().time()
    await engine.submit("work")
    assert asyncio.get_running_loop().time() - started < 0.5
    for one in made:
        await engine.cancel(one.id)
    outcomes = await asyncio.gather(*waiting)
    assert {outcome.state for outcome in outcomes} == {State.CANCELLED}


async def test_a_heartbeat_renews_the_whole_registration(engine: Engine, clock: Clock) -> None:
    """One lifetime for all of it, and the time of the last beat is that of the last beat."""
    start = clock.now_ms
    options: dict[str, Any] = {"worker": "w", "lanes": ["b", "a"], "ttl_ms": 10_000}
    first = await engine.workers.register("i1", **options, capabilities=["x"], slots=4)
    assert (first.is_new, first.draining) == (True, False)
    await clock.advance_and_tick(9_000)
    beat = await engine.workers.register("i1", **options, capabilities=["y"], slots=2, busy=1)
    assert (beat.is_new, beat.expires_at) == (False, from_ms(clock.now_ms + 10_000))
    await clock.advance_and_tick(9_999)
    (worker,) = await engine.workers.list()
    assert (worker.lanes, worker.capabilities) == (("a", "b"), ("y",))
    assert (worker.slots, worker.busy) == (2, 1)
    assert worker.registered_at == from_ms(start)
    assert worker.heartbeat_at == from_ms(start + 9_000)
    assert worker.expires_at == from_ms(start + 19_000)


async def test_a_silent_worker_expires_and_leaves_nothing(
    engine: Engine, clock: Clock, dump: Dump
) -> None:
    """At the end of its time it is no more listed, and its keys go with the next tick."""
    before = _without_meta(dump())
    await engine.workers.register("i1", worker="w", lanes=["a"], ttl_ms=1_000)
    await clock.advance(999)
    assert len(await engine.workers.list()) == 1
    await clock.advance(1)
    assert await engine.workers.list() == []
    await clock.advance_and_tick(0)
    assert _without_meta(dump()) == before


async def test_an_expired_worker_is_gone_even_before_it_is_swept(
    engine: Engine, clock: Clock
) -> None:
    """Listing, draining and registering agree on who is alive."""
    await engine.workers.register("i1", worker="w", lanes=["a"], ttl_ms=1_000)
    await engine.workers.drain("i1")
    await clock.advance(1_000)
    with pytest.raises(WorkerNotFound):
        await engine.workers.drain("i1")
    again = await engine.workers.register("i1", worker="w", lanes=["a"], ttl_ms=1_000)
    assert (again.is_new, again.draining) == (True, False)
    (worker,) = await engine.workers.list()
    assert worker.registered_at == from_ms(clock.now_ms)


async def test_a_drained_worker_learns_it_at_its_next_beat(engine: Engine) -> None:
    """And stays drained until it leaves."""
    options: dict[str, Any] = {"worker": "w", "lanes": ["a"]}
    await engine.workers.register("i1", **options)
    await engine.workers.drain("i1")
    assert (await engine.workers.register("i1", **options)).draining
    assert (await engine.workers.list())[0].draining
    assert await engine.workers.remove("i1")
    assert not await engine.workers.remove("i1")
    assert not (await engine.workers.register("i1", **options)).draining


async def test_a_registry_that_cannot_be_read_is_not_empty(engine: Engine) -> None:
    """An explanation fails rather than blame workers that it could not see."""
    made = await engine.submit("work")
    await engine.store.client.call(["SET", f"{engine.store.global_tag}:workers", "broken"])
    with pytest.raises(StoreFault):
        await engine.explain(made.id)


async def test_the_default_number_of_partitions_fits_the_server(client: Client) -> None:
    """One on a single server, where order is then exact; many on a cluster."""
    prefix = f"d{int(client.cluster)}"
    url = StoreUrl(prefix=prefix, cluster=client.cluster)
    store = Store(client, url, StoreSettings(fake_clock=True))
    await store.boot()
    assert store.partitions == (256 if client.cluster else 1)
