"""The life of a worker: start, work, drain, release, and what the registry shows."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
import weakref
from typing import Any

import pytest

from holdfast import App, Context, SyncContext, WorkerSettings
from holdfast.engine import Engine
from holdfast.errors import HoldfastError
from holdfast.model.executions import Claim
from holdfast.model.states import State
from holdfast.model.workers import Worker as Registered
from holdfast.store.valkey.wire import Command
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer
from holdfast.worker.worker import Worker
from tests.integration.worker.conftest import LEASE_MS, Working, near
from tests.support.fault_injection import before_calls

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True


async def registered(engine: Engine, *, busy: int) -> Registered:
    """Wait until the only worker of the registry says how busy it is."""

    async def probe() -> list[Registered]:
        return [worker for worker in await engine.workers.list() if worker.busy == busy]

    return (await wait_for(probe, timeout_s=5))[0]


async def test_the_registry_shows_a_worker_while_it_lives(
    app: App, working: Working, engine: Engine
) -> None:
    """Instance, pool, lanes, capabilities, slots, and how many are in use."""
    done = asyncio.Event()

    @app.task(lane="mail")
    async def work() -> None:
        await done.wait()

    async with working(name="mailer", capabilities=("smtp",), slots=3) as worker:
        found = await registered(engine, busy=0)
        assert found.instance == worker.instance
        assert found.instance.startswith("mailer.")
        assert (found.worker, found.slots, found.draining) == ("mailer", 3, False)
        assert (found.lanes, found.capabilities) == (("mail",), ("smtp",))
        handles = await work.submit_many([{}, {}])
        await registered(engine, busy=2)
        done.set()
        for handle in handles:
            await handle.result(timeout=5)
            assert (await handle.describe()).worker is None
        await registered(engine, busy=0)
    assert await engine.workers.list() == []


async def test_the_tasks_of_a_worker_are_published(
    app: App, working: Working, engine: Engine
) -> None:
    """With JSON Schema and documentation; they stay when the worker leaves."""

    @app.task(lane="mail")
    def send(to: str, copies: int = 1) -> bool:
        """Send a mail."""
        return bool(to and copies)

    async with working():
        pass
    (published,) = (await engine.store.tasks.list()).values()
    assert published == {**send.describe(), "schedules": []}
    assert published["input"]["required"] == ["to"]
    assert published["result"]["type"] == "boolean"


async def test_a_worker_takes_only_what_it_can_do(app: App, working: Working) -> None:
    """Lanes and capabilities decide."""

    @app.task
    async def work() -> str:
        return "done"

    async with working(lanes=("a", "b"), capabilities=("gpu",)):
        assert await (await work.options(lane="a").submit()).result(timeout=5) == "done"
        gpu = work.options(lane="b", requires=["gpu"])
        assert await (await gpu.submit()).result(timeout=5) == "done"
        other = await work.options(lane="b", requires=["gpu", "tpu"]).submit()
        elsewhere = await work.submit()
        assert await (await gpu.submit()).result(timeout=5) == "done"
        assert await other.state() is State.WAITING
        assert await elsewhere.state() is State.WAITING


async def test_a_worker_runs_as_many_as_it_has_slots(app: App, working: Working) -> None:
    """Not one more, and the rest afterwards."""
    running, most = 0, 0

    @app.task
    async def work(ctx: Context) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await ctx.progress(50)
        running -= 1

    async with working(slots=3):
        handles = await work.submit_many([{}] * 20)
        await asyncio.gather(*(handle.result(timeout=10) for handle in handles))
    assert most == 3


async def test_a_task_that_no_worker_has_waits_and_says_so(
    app: App, working: Working, engine: Engine
) -> None:
    """No worker takes it, nothing happens to it, and `explain` knows what may have been meant."""

    @app.task(name="order.place")
    async def place() -> str:
        return "ran"

    made = await engine.submit("order.plac")
    async with working(slots=1):
        assert await (await place.submit()).result(timeout=5) == "ran"
        explanation = await engine.explain(made.id)
    assert explanation.why == (
        "It waits for a worker: no live worker has the task `order.plac`; "
        "did you mean `order.place`?"
    )
    described = await engine.describe(made.id)
    assert (described.state, described.attempts) == (State.WAITING, 0)
    assert [event.event for event in await engine.history(made.id)] == ["created"]


async def test_two_apps_share_a_lane(app: App, working: Working, engine: Engine) -> None:
    """Each gets its own work, at once, and none of the other's."""
    other = App()
    other.attach(engine)

    @app.task
    async def ours() -> str:
        return "ours"

    @other.task
    async def theirs() -> str:
        return "theirs"

    async with working(slots=2), other.worker():
        handles = [await task.submit() for _ in range(20) for task in (ours, theirs)]
        results = [await handle.result(timeout=5) for handle in handles]
    assert results == ["ours", "theirs"] * 20
    for handle in handles:
        assert (await engine.describe(handle.id)).attempts == 1


async def test_a_worker_of_an_app_without_tasks_claims_nothing(
    working: Working, engine: Engine
) -> None:
    """No tasks are not every task."""
    made = await engine.submit("anything")
    async with working(slots=1):
        (worker,) = await engine.workers.list()
        assert worker.kinds == ()
        async with engine.claimer(worker="other", kinds=["anything"]) as claimer:
            (claim,) = await claimer.claim(1, 30_000)
    assert claim.id == made.id


async def test_a_new_task_waits_for_the_worker_that_has_it(
    app: App, working: Working, engine: Engine
) -> None:
    """In a rolling deployment old workers leave it alone, and the first new one takes it."""

    @app.task
    async def old() -> str:
        return "old"

    newer = App()
    newer.attach(engine)

    @newer.task
    async def fresh() -> str:
        return "fresh"

    async with working(slots=1):
        handle = await fresh.submit()
        assert await (await old.submit()).result(timeout=5) == "old"
        assert await handle.state() is State.WAITING
        async with newer.worker():
            assert await handle.result(timeout=5) == "fresh"


async def test_draining_finishes_what_runs_and_takes_no_more(
    app: App, working: Working, engine: Engine
) -> None:
    """Async and plain functions; their leases are renewed to the end."""
    go, started = threading.Event(), asyncio.Barrier(3)
    loop = asyncio.get_running_loop()

    @app.task
    async def work() -> str:
        await started.wait()
        await asyncio.to_thread(go.wait, 10)
        return "async"

    @app.task
    def plain() -> str:
        asyncio.run_coroutine_threadsafe(started.wait(), loop).result()
        go.wait(10)
        return "plain"

    async with working() as worker:
        handles = [await work.submit(), await plain.submit()]
        await started.wait()
        worker.drain()
        late = await work.submit()
        loop.call_later(LEASE_MS / 1000 + 0.2, go.set)
    assert [await handle.result(timeout=5) for handle in handles] == ["async", "plain"]
    assert [(await handle.describe()).epoch for handle in handles] == [1, 1]
    assert await late.state() is State.WAITING
    assert await engine.workers.list() == []


async def test_a_worker_drains_when_the_registry_says_so(
    app: App, working: Working, engine: Engine
) -> None:
    """An operator need not reach the process."""

    @app.task
    async def work() -> None: ...

    async with working() as worker:
        await engine.workers.drain(worker.instance)
        async with asyncio.timeout(5):
            await worker._draining.wait()
        handle = await work.submit()
    assert await handle.state() is State.WAITING


async def test_a_claim_under_way_is_not_lost_when_draining(
    app: App,
    working: Working,
    engine: Engine,
    real_server: TestServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the store hands out at that moment is run or given back, not left to expire."""

    @app.task
    async def work() -> str:
        return "done"

    claim = engine.store.executions.claim
    async with working() as worker:

        async def drain_while_claiming(*args: Any, **kwargs: Any) -> Any:
            with real_server.raw() as server:
                server.client_pause(200)
            claiming = asyncio.ensure_future(claim(*args, **kwargs))
            for _ in range(20):
                await asyncio.sleep(0)  # until it is sent
            worker.drain()
            return await claiming

        monkeypatch.setattr(engine.store.executions, "claim", drain_while_claiming)
        handle = await work.submit()
        async with asyncio.timeout(5):
            await worker._draining.wait()
    assert await handle.state() is not State.ACTIVE


async def test_releasing_gives_leases_back_at_once(
    app: App, working: Working, engine: Engine
) -> None:
    """Another worker goes on with the same attempt; no retry and no reclaim is used up."""
    started = asyncio.Barrier(3)

    @app.task
    async def work() -> None:
        await started.wait()
        await asyncio.Event().wait()

    async with working(lease_ms=30_000) as worker:
        handles = await work.submit_many([{}, {}])
        await started.wait()
        before = time.monotonic()
        worker.release()
    assert time.monotonic() - before < 1
    for handle in handles:
        described = await handle.describe()
        assert (described.state, described.reclaims) == (State.WAITING, 0)
        assert (described.attempts, described.failures) == (1, 0)
        assert described.attempt_open


async def test_releasing_stops_an_attempt_that_has_not_begun(
    app: App, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was claimed in the same moment: its lease goes back, and the worker ends."""

    @app.task
    async def work() -> None:
        await asyncio.Event().wait()

    async with app:
        worker = Worker(app, WorkerSettings(lease_ms=LEASE_MS))
        start = worker._start

        def start_and_release(claim: Claim) -> None:
            start(claim)
            worker.release()

        monkeypatch.setattr(worker, "_start", start_and_release)
        handle = await work.submit()
        await asyncio.wait_for(worker.run(), 3)
        assert await handle.state() is State.WAITING


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_handler_is_told_of_a_release(app: App, working: Working, kind: str) -> None:
    """A coroutine is cancelled; a thread learns it at its next check."""
    started, happened = threading.Event(), []

    @app.task(name="async")
    async def coroutine_function() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            happened.append("told")
            raise

    @app.task(name="plain")
    def function(ctx: SyncContext) -> None:
        started.set()
        deadline = time.monotonic() + 2
        try:
            while time.monotonic() < deadline:
                ctx.check()
                time.sleep(0.01)
        except BaseException:
            happened.append("told")
            raise

    async with working(lease_ms=30_000) as worker:
        await app.find(kind).submit()
        await asyncio.to_thread(started.wait)
        worker.release()
    assert happened == ["told"]


@near
async def test_a_blocked_event_loop_keeps_its_leases_and_is_reported(
    app: App,
    working: Working,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For longer than a lease lasts: the heartbeat thread goes on."""
    monkeypatch.setattr("holdfast.worker.heartbeats.BLOCKED_S", 0.2)

    @app.task
    async def rude() -> str:
        time.sleep(1.5)  # noqa: ASYNC251 - this is the misdeed
        return "done"

    async with working(lease_ms=LEASE_MS):
        handle = await rude.submit()
        assert await handle.result(timeout=5) == "done"
    described = await handle.describe()
    assert (described.reclaims, described.epoch) == (0, 1)
    blocked = [r.message for r in caplog.records if "event loop has been blocked" in r.message]
    assert blocked
    assert "pool='process'" in blocked[0]


async def test_an_idle_loop_is_not_reported(
    app: App, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """Several heartbeats pass without a warning."""

    @app.task
    async def work() -> None:
        await asyncio.sleep(0.8)

    async with working():
        await (await work.submit()).result(timeout=5)
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


async def test_a_worker_that_cannot_start_says_why(app: App) -> None:
    """The block of `app.worker` is not entered."""

    @app.task(lane="x")
    async def work() -> None: ...

    with pytest.raises(HoldfastError, match="lanes"):
        async with app.worker(WorkerSettings(lanes=tuple(f"l{n}" for n in range(65)))):
            pass


@near
async def test_the_next_execution_starts_while_a_result_is_recorded(
    app: App, working: Working, engine: Engine
) -> None:
    """With one slot the code of one runs; one more result may be on its way, no further ones."""
    started: list[int] = []
    recorded = asyncio.Event()

    @app.task
    async def work(number: int) -> int:
        started.append(number)
        return number

    async def hold(command: Command) -> None:
        if command[1] == "hf_execution_complete_all":
            await recorded.wait()

    async def two_started() -> bool:
        return len(started) == 2

    with before_calls(engine.store.client, hold):
        async with working(slots=1):
            handles = await work.submit_many([{"number": n} for n in range(4)])
            await wait_for(two_started, timeout_s=5)
            assert (await engine.describe(handles[2].id)).state is State.WAITING
            recorded.set()
            assert [await handle.result(timeout=5) for handle in handles] == [0, 1, 2, 3]
    assert started == [0, 1, 2, 3]


async def test_attempts_leave_nothing_to_the_search_for_garbage(app: App, working: Working) -> None:
    """A context goes with its attempt, with and without steps and kept lines."""
    contexts: list[weakref.ref[Context]] = []

    @app.task
    async def work(ctx: Context, said: str) -> None:
        contexts.append(weakref.ref(ctx))
        await ctx.step("first", lambda: 1)

    gc.disable()
    try:
        async with working():
            for handle in await work.submit_many([{"said": "hello"}] * 20):
                await handle.result(timeout=5)

            async def all_gone() -> bool:
                return all(context() is None for context in contexts)

            await wait_for(all_gone)
    finally:
        gc.enable()
    assert len(contexts) == 20


async def test_a_worker_that_can_no_longer_claim_ends_with_the_error(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would seem to live, and do nothing."""
    worker = Worker(app, WorkerSettings(lease_ms=LEASE_MS))

    async def broken(_claims: list[Claim]) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(worker, "_start_all", broken)
    with pytest.raises(RuntimeError, match="broken"):
        await asyncio.wait_for(worker.run(), 30)
