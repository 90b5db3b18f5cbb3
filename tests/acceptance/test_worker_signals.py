"""SIGTERM drains a worker process; a second one releases what it has."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter

import pytest

from holdfast import App
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from tests.acceptance.apps.crew import Crew
from tests.acceptance.apps.effects import World

pytestmark = pytest.mark.timeout(90)

STOP_TIMEOUT_S = 10


async def held(world: World) -> int:
    """Wait until the busy task runs; returns its process."""

    async def probe() -> bool:
        return world.holder("busy") is not None

    await wait_for(probe, timeout_s=20)
    pid = world.holder("busy")
    assert pid is not None
    return pid


async def ended(pid: int) -> None:
    """Wait until there is no such process."""

    async def probe() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    await wait_for(probe)


async def test_sigterm_loses_nothing_and_runs_nothing_twice(
    app: App, world: World, crew: Crew
) -> None:
    """Workers are replaced one after the other while they are busy."""
    many = 300
    worker = await crew.start(lease_ms=30_000)
    handles = await app.find("quick").submit_many([{"n": n} for n in range(many)])
    for share in (0.2, 0.4, 0.6):

        async def reached(share: float = share) -> bool:
            return len(world.effects()) >= share * many

        await wait_for(reached, timeout_s=20)
        worker.send_signal(signal.SIGTERM)
        successor = await crew.start(lease_ms=30_000)
        assert await asyncio.wait_for(worker.wait(), STOP_TIMEOUT_S) == 0
        worker = successor
    results = [await handle.result(timeout=20) for handle in handles]
    assert results == list(range(many))
    assert set(Counter(world.names()).values()) == {1}
    for handle in handles:
        described = await handle.describe()
        assert (described.attempts, described.reclaims, described.epoch) == (1, 0, 1)


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_sigterm_waits_for_what_runs(app: App, world: World, crew: Crew, kind: str) -> None:
    """And keeps its lease meanwhile, though that is shorter than the wait."""
    worker = await crew.start()
    handle = await app.find(f"order.{kind}").submit(hold="charge")

    async def held() -> bool:
        return world.holder("charge") == worker.pid

    await wait_for(held)
    worker.send_signal(signal.SIGTERM)

    async def drains() -> bool:
        return "draining" in crew.log()

    await wait_for(drains)
    late = await app.find("quick").submit(n=1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(worker.wait(), 1.5)
    world.release()
    assert await asyncio.wait_for(worker.wait(), STOP_TIMEOUT_S) == 0
    assert world.names() == ["reserve", "charge", "mail"]
    described = await handle.describe()
    assert (described.state, described.epoch) == (State.COMPLETED, 1)
    assert await late.state() is State.WAITING
    assert await app.engine.workers.list() == []


async def test_ctrl_c_does_not_end_the_processes_of_tasks(
    app: App, world: World, crew: Crew
) -> None:
    """A terminal sends it to them, too; the worker drains, and they finish their work."""
    worker = await crew.start(lease_ms=30_000)
    handle = await app.find("busy.process").submit(str(world.folder))
    busy = await held(world)
    assert busy != worker.pid
    for pid in (busy, worker.pid):
        os.kill(pid, signal.SIGINT)

    async def drains() -> bool:
        return "draining" in crew.log()

    await wait_for(drains)
    world.release()
    assert await asyncio.wait_for(worker.wait(), STOP_TIMEOUT_S) == 0
    described = await handle.describe()
    assert (described.state, described.failures) == (State.COMPLETED, 0)


@pytest.mark.parametrize("kind", ["async", "plain", "process"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_releases_at_once(
    app: App, world: World, crew: Crew, kind: str, number: signal.Signals
) -> None:
    """The lease would last for a day; the next worker has the work at once."""
    worker = await crew.start(lease_ms=86_400_000)
    given = [str(world.folder)] if kind == "process" else []
    handle = await app.find(f"busy.{kind}").submit(*given)
    busy = await held(world)
    worker.send_signal(signal.SIGTERM)

    async def drains() -> bool:
        return "draining" in crew.log()

    await wait_for(drains)
    assert worker.returncode is None
    worker.send_signal(number)
    assert await asyncio.wait_for(worker.wait(), STOP_TIMEOUT_S) == 0
    described = await handle.describe()
    assert (described.state, described.reclaims) == (State.WAITING, 0)
    assert await app.engine.workers.list() == []
    if kind == "process":
        await ended(busy)

    await crew.start()
    await handle.result(timeout=10)
    described = await handle.describe()
    assert (described.attempts, described.epoch, world.names()) == (1, 2, ["busy", "busy"])


async def test_processes_of_tasks_end_with_a_worker_that_is_killed(
    app: App, world: World, crew: Crew
) -> None:
    """Nobody would ever stop them."""
    worker = await crew.start()
    await app.find("busy.process").submit(str(world.folder))
    busy = await held(world)
    await crew.kill(worker)
    await ended(busy)
