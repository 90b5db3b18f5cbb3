"""Worker processes die at every kind of moment; the work goes on as if they had not."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable

import pytest

from holdfast import App
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from tests.acceptance.apps.crew import Crew
from tests.acceptance.apps.effects import World
from tests.acceptance.apps.shop import STEPS

pytestmark = pytest.mark.timeout(120)

KINDS = ["async", "plain"]


async def until(so: Callable[[], bool], timeout_s: float = 15) -> None:
    """Wait until something is so."""

    async def probe() -> bool:
        return so()

    await wait_for(probe, timeout_s=timeout_s)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", STEPS)
async def test_a_worker_killed_in_a_step_repeats_that_step_only(
    app: App, world: World, crew: Crew, kind: str, moment: str
) -> None:
    """Completed steps do not run again, and their first results are the result."""
    first = await crew.start()
    handle = await app.find(f"order.{kind}").submit(hold=moment)
    await until(lambda: world.holder(moment) == first.pid)
    await crew.kill(first)
    await crew.start()
    result = await handle.result(timeout=30)
    expected = [name for step in STEPS for name in ([step] if step != moment else [step, step])]
    assert world.names() == expected
    last = {effect.name: effect.token for effect in world.effects()}
    assert result == [last[name] for name in STEPS]
    described = await handle.describe()
    assert (described.state, described.reclaims, described.failures) == (State.COMPLETED, 1, 0)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_worker_killed_between_steps_repeats_nothing(
    app: App, world: World, crew: Crew, kind: str
) -> None:
    """Every step has run once."""
    first = await crew.start()
    handle = await app.find(f"order.{kind}").submit(hold="between")
    await until(lambda: world.holder("between") == first.pid)
    await crew.kill(first)
    await crew.start()
    result = await handle.result(timeout=30)
    assert world.names() == list(STEPS)
    assert result == [effect.token for effect in world.effects()]
    assert (await handle.describe()).reclaims == 1


@pytest.mark.parametrize("seconds", [0.9, 2.5])
async def test_a_worker_killed_while_its_task_sleeps_repeats_nothing(
    app: App, world: World, crew: Crew, seconds: float
) -> None:
    """A short sleep holds a lease, a long one does not; both end with the rest of the task."""
    first = await crew.start()
    handle = await app.find("nap").submit(seconds)
    asleep = "sleep:1"

    async def sleeps() -> bool:
        return any(step.name == asleep for step in await app.engine.steps(handle.id))

    await wait_for(sleeps)
    if seconds > 1:

        async def paused() -> bool:
            return await handle.state() is State.DELAYED

        await wait_for(paused)
    await crew.kill(first)
    assert not (await handle.state()).is_terminal
    await crew.start()
    result = await handle.result(timeout=30)
    assert world.names() == ["before", "after"]
    assert result == [effect.token for effect in world.effects()]
    described = await handle.describe()
    assert described.completed_at is not None
    assert (described.completed_at - described.created_at).total_seconds() >= seconds
    assert described.reclaims == (0 if seconds > 1 else 1)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_worker_that_comes_back_after_its_lease_changes_nothing(
    app: App, world: World, crew: Crew, kind: str
) -> None:
    """It stood still in a heartbeat; another finished its work; it notices and goes on working."""
    stale = await crew.start()
    handle = await app.find(f"order.{kind}").submit(hold="charge")
    await until(lambda: world.holder("charge") == stale.pid)
    stale.send_signal(signal.SIGSTOP)
    other = await crew.start()
    result = await handle.result(timeout=30)
    done = world.effects()
    assert [(e.name, e.pid) for e in done] == [
        ("reserve", stale.pid),
        ("charge", stale.pid),
        ("charge", other.pid),
        ("mail", other.pid),
    ]
    steps = await app.engine.steps(handle.id)

    world.release()
    stale.send_signal(signal.SIGCONT)
    await crew.kill(other)
    assert await (await app.find("where").submit()).result(timeout=30) == stale.pid
    await until(lambda: "the lease was lost: " in crew.log() or "stopped: " in crew.log())
    assert world.effects() == done
    assert await app.engine.steps(handle.id) == steps
    assert await handle.result(timeout=5) == result == [done[0].token, done[2].token, done[3].token]

    stale.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(stale.wait(), 15) == 0
    assert world.effects() == done


async def test_nothing_is_stuck_after_many_crashes(app: App, world: World, crew: Crew) -> None:
    """Whenever they die: every order ends, and no step runs again once it is recorded."""
    marks = [f"-{n}" for n in range(30)]
    handles = []
    for n, mark in enumerate(marks):
        task = app.find(f"order.{KINDS[n % 2]}")
        handles.append(await task.submit(mark=mark))
    for done in (3, 30, 60):
        worker = await crew.start()
        await until(lambda done=done: len(world.effects()) >= done)  # type: ignore[misc]
        await crew.kill(worker)
    await crew.start()
    results = [await handle.result(timeout=40) for handle in handles]
    last = {effect.name: effect.token for effect in world.effects()}
    expected = [[last[name + mark] for name in STEPS] for mark in marks]
    assert results == expected
    assert all(count <= 4 for count in Counter(world.names()).values())
    assert {cell.state for cell in await app.engine.count()} == {State.COMPLETED}


@pytest.mark.parametrize("misdeed", ["leave.async", "leave.plain", "interrupt.async"])
async def test_a_task_cannot_end_its_worker(app: App, crew: Crew, misdeed: str) -> None:
    """`sys.exit()` in a handler fails its attempt, and the worker goes on."""
    worker = await crew.start()
    handle = await app.find(misdeed).submit()
    outcome = await app.engine.wait(handle.id, timeout_s=10)
    assert outcome.state is State.FAILED
    assert await (await app.find("where").submit()).result(timeout=10) == worker.pid
    assert worker.returncode is None


async def test_a_worker_killed_after_the_receipt_of_a_signal_receives_it_once(
    app: App, world: World, crew: Crew
) -> None:
    """The next attempt has it from the journal, at the same place, and then the others."""
    first = await crew.start()
    handle = await app.find("listen").submit()
    for name, value in (("add", 1), ("hold", 2)):
        await handle.send(name, value)
    await until(lambda: world.holder("received") == first.pid)
    await handle.send("add", 3)
    await crew.kill(first)
    await handle.send("stop")
    await crew.start()
    assert await handle.result(timeout=30) == [1, 2, 3]
    assert world.names() == ["use-1", "use-2", "use-3"]
    described = await handle.describe()
    assert (described.reclaims, described.unread) == (1, 0)


async def test_the_children_of_a_killed_parent_end_with_it(
    app: App, world: World, crew: Crew
) -> None:
    """Nobody runs the parent any more: its cancellation reaches its children all the same."""
    first = await crew.start()
    handle = await app.find("parent").submit()
    await until(lambda: world.holder("parent") == first.pid)
    await crew.kill(first)
    assert (await handle.describe()).bound == 2
    await handle.cancel("no more")
    child = await app.engine.describe(f"{handle.id}~0.1")
    assert (child.state, child.reason) == (State.CANCELLED, f"its parent {handle.id} has ended")
    graph = (await app.engine.graphs.describe(f"{handle.id}~0.g1")).graph
    assert graph.state == "cancelled"
