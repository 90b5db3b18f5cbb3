"""A store with something of everything, for tests of backups and of `verify`."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.executions import Failure
from holdfast.model.pack_states import StateScope
from holdfast.model.revisions import Lifecycle
from holdfast.model.waitpoints import NewWaitpoint
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support import (
    deployments,
    endpoints,
    graphs,
    inboxes,
    limits,
    queues,
    scheduling,
    sessions,
    streaming,
    waits,
)
from tests.support.lifecycle import claim_one, complete_one, create_one, register_worker

LARGE = b"x" * 1000


async def fill(engine: Engine, clock: Clock) -> None:
    """Put something of everything into a store."""
    store = engine.store
    await _executions(store, clock)
    await _waits(store)
    await _sessions(store)
    await graphs.submit(store, "a b c", "a>b", "b>c", tenant="acme")
    await scheduling.put(store, scheduling.plan("daily"), START_MS + 3_600_000)
    await _limits(engine)
    await _queues(engine, clock)
    await _deployments(store)
    scope = StateScope(env="e", tenant="t", pack="p")
    await store.states.put(scope, "v", b"1", expected=None, ttl_ms=60_000)
    await store.objects.put("lease", b"body", "")


async def _executions(store: Store, clock: Clock) -> None:
    await create_one(store, tags={"team": "red", "zone": "z" * 80}, input=LARGE, lane="busy")
    await create_one(store, delay_ms=60_000, deadline_ms=900_000)
    await claim_one(store, await create_one(store, attempt_timeout_ms=60_000))
    await complete_one(store, tenant="acme")
    failed = await claim_one(store, await create_one(store))
    await store.executions.fail(failed.id, failed.lease, Failure(type="Boom", message="no"))
    talking = await streaming.running(store)
    await streaming.append(store, talking, "hello")
    await inboxes.send(store, talking.id)
    await register_worker(store)
    await clock.advance(10)


async def _waits(store: Store) -> None:
    await waits.suspend_one(store, NewWaitpoint(name="gate", key="g", expires_ms=60_000))


async def _sessions(store: Store) -> None:
    claim = await sessions.begin(store, user="ann", sender="post")
    await sessions.turn(store, claim, "hello", wait="receive:1")
    await sessions.deliver(store, user="ann", conversation="c2")
    await sessions.deliver(store, user="bob")


async def _limits(engine: Engine) -> None:
    store = engine.store
    await limits.make_quota(store, "slots", max_concurrent=1)
    await limits.make_budget(store, "money", hard=100)
    await limits.make_budget(store, "child", hard=50, parent="money")
    await limits.reserve(store, 10, budget="child")
    for _ in range(2):
        await create_one(store, lane="limited", quotas=("slots",))
    assert len(await limits.claim_all(engine, lanes=["limited"])) == 1


async def _queues(engine: Engine, clock: Clock) -> None:
    await engine.queues.define("work", lock_ms=60_000)
    await queues.push(engine, b"1", b"2", b"3", queue="work", key="k")
    await queues.push(engine, b"4", queue="work", delay_ms=60_000, ttl_ms=120_000)
    await queues.push(engine, b"5", queue="work", ttl_ms=60_000, id="once")
    flying = await queues.read(engine, 2, queue="work")
    await queues.settle(engine, "nack", flying[0], queue="work", delay_ms=30_000)
    await engine.queues.define("news", mode="fanout")
    for group in ("a", "b"):
        await engine.queues.add_group("news", group)
    await queues.push(engine, b"1", b"2", queue="news")
    await queues.read(engine, 1, queue="news", group="a")
    await clock.advance(10)


async def _deployments(store: Store) -> None:
    ref = await deployments.create(store)
    await deployments.stage(store, ref, "blue", Lifecycle.READY)
    await deployments.stage(store, ref, "green", Lifecycle.DRAINING)
    await store.endpoints.put(endpoints.new())
