"""The drainer: deadlines, the grace of what runs, and what the doctor says."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast.engine.drainer import Drainer
from holdfast.engine.engine import Engine
from holdfast.model.deployments import DeploymentRef
from holdfast.model.executions import NewExecution
from holdfast.model.findings import Level
from holdfast.model.revisions import Gate, Lifecycle, Needs, capability
from holdfast.model.states import State
from holdfast.operate.drains import drains
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support import sessions
from tests.support.deployments import create, stage
from tests.support.fault_injection import meanwhile, once
from tests.support.lifecycle import claim_one, create_one, state_of

BLUE = (capability("blue"),)
GRACE_MS = 5_000


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[Engine]:
    """An engine without maintenance on the store."""
    opened = Engine(store)
    yield opened
    await opened.close()


async def begin(store: Store) -> DeploymentRef:
    """A deployment of an app whose revision has a conversation that waits, and one that runs."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    for user in ("ann", "ben"):
        delivered = await sessions.deliver(store, user=user, requires=BLUE)
        claim = await claim_one(store, delivered.execution or "", capabilities=BLUE)
        if user == "ann":
            await sessions.turn(store, claim, "name?", wait="receive:1")
    return ref


async def lifecycle(store: Store, ref: DeploymentRef) -> Lifecycle:
    """How far the revision is."""
    found = (await store.deployments.get(ref)).revision("blue")
    assert found is not None
    return found.lifecycle


async def test_what_waits_ends_at_the_deadline_and_what_runs_after_the_grace(
    store: Store, engine: Engine, clock: Clock
) -> None:
    """Then the drain is over. The drainer looks again when the deadline comes."""
    ref = await begin(store)
    drainer = Drainer(store, grace_ms=GRACE_MS)
    await engine.deployments.drain(ref, "blue", deadline_ms=4_000)
    assert await drainer.settle() == pytest.approx(4.0)
    assert await store.needs.close("default", "blue") != Needs()
    await clock.advance(4_000)
    finding = await drains(engine)
    assert (finding.level, "1 executions run, 1 wait" in finding.text) == (Level.WARNING, True)
    assert await drainer.settle() == pytest.approx(1.0)
    assert await store.needs.close("default", "blue") == Needs(running=1)
    await clock.advance(GRACE_MS)
    await drainer.settle()
    assert await store.needs.close("default", "blue") == Needs()
    assert await lifecycle(store, ref) is Lifecycle.INACTIVE
    assert (await drains(engine)).level is Level.OK


async def test_without_a_deadline_nothing_is_ended(
    store: Store, engine: Engine, clock: Clock
) -> None:
    """However long it takes; a second call sets one."""
    ref = await begin(store)
    drainer = Drainer(store, grace_ms=GRACE_MS)
    await engine.deployments.drain(ref, "blue")
    await clock.advance(25_000)
    assert await drainer.settle() == pytest.approx(10.0)
    assert (await store.needs.close("default", "blue")).waiting == 1
    await engine.deployments.drain(ref, "blue", deadline_ms=1_000)
    await drainer.settle()
    assert await lifecycle(store, ref) is Lifecycle.INACTIVE


async def test_many_executions_are_ended_page_by_page(
    store: Store, engine: Engine, clock: Clock
) -> None:
    """Also if more of them run than a page has."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    items = [NewExecution(kind="work", requires=BLUE) for _ in range(250)]
    await store.executions.create(items)
    await engine.deployments.drain(ref, "blue", deadline_ms=0)
    await Drainer(store, grace_ms=GRACE_MS).settle()
    assert await store.needs.close("default", "blue") == Needs(running=250)
    await clock.advance(GRACE_MS)
    await Drainer(store, grace_ms=GRACE_MS).settle()
    assert await lifecycle(store, ref) is Lifecycle.INACTIVE


async def test_what_runs_on_a_revision_that_serves_again_is_left_alone(
    store: Store, engine: Engine, clock: Clock
) -> None:
    """Another process has ended the drain, and the revision was warmed up again."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    first = await create_one(store, requires=BLUE)
    await engine.deployments.drain(ref, "blue", deadline_ms=0)
    await clock.advance(GRACE_MS)
    made: list[str] = []

    async def serve_again() -> None:
        await store.executions.cancel(first, "")
        await Drainer(store).settle()
        seen = await engine.deployments.warm(ref, "blue")
        gates = [Gate(name="loads", passed=True)]
        await engine.deployments.judge(ref, "blue", gates, seen=seen.version)
        made.append(await create_one(store, requires=BLUE))

    with meanwhile(store.client, "hf_revision_list", once(serve_again)):
        await Drainer(store, grace_ms=GRACE_MS).settle()
    assert await lifecycle(store, ref) is Lifecycle.READY
    assert await state_of(store, made[0]) is State.WAITING
