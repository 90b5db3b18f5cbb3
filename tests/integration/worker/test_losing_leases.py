"""A lease that is gone: the handler learns it, and nothing more is written."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from holdfast import App, Context, SyncContext
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from holdfast.worker.worker import Worker
from tests.integration.worker.conftest import Working, at_once

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True


async def settled(flag: Callable[[], bool], timeout_s: float = 5) -> None:
    """Wait until something is so."""

    async def probe() -> bool:
        return flag()

    await wait_for(probe, timeout_s=timeout_s)


async def idle(worker: Worker) -> None:
    """Wait until a worker has nothing to do."""
    await settled(lambda: not worker._attempts)


@pytest.mark.parametrize("how", ["cancel", "revoke"])
async def test_a_running_coroutine_is_cancelled(
    app: App, working: Working, engine: Engine, how: str
) -> None:
    """At its next await, with time to clean up; what it returns then counts for nothing."""
    started, happened = asyncio.Event(), []

    @app.task
    async def work(ctx: Context) -> str:
        if ctx.claim.lease.epoch > 1:
            return "second"
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            happened.append("cancelled")
            raise
        finally:
            happened.append("cleaned up")
        return "not reached"

    async with working() as worker:
        handle = await work.submit()
        await started.wait()
        if how == "cancel":
            await handle.cancel("not needed")
            await idle(worker)
            assert await handle.state() is State.CANCELLED
        else:
            await engine.revoke_lease(handle.id)
            assert await handle.result(timeout=5) == "second"
            await idle(worker)
    assert happened == ["cancelled", "cleaned up"]


async def test_a_coroutine_is_cancelled_whose_execution_is_gone(app: App, working: Working) -> None:
    """Retention may remove a cancelled execution before the next heartbeat."""
    started = asyncio.Event()

    @app.task(retention=0)
    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    async with working() as worker:
        handle = await work.submit()
        await started.wait()
        await handle.cancel()
        await idle(worker)


async def test_a_coroutine_that_ignores_its_cancellation_changes_nothing(
    app: App, working: Working
) -> None:
    """Its result comes too late."""
    started = asyncio.Event()

    @app.task
    async def work() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "too late"
        return "not reached"

    async with working() as worker:
        handle = await work.submit()
        await started.wait()
        await handle.cancel()
        await idle(worker)
        assert await handle.state() is State.CANCELLED


async def test_a_running_thread_learns_it_at_its_next_check(app: App, working: Working) -> None:
    """No `except Exception` can keep it from stopping."""
    started, happened = threading.Event(), []

    @app.task
    def work(ctx: SyncContext) -> None:
        started.set()
        while True:
            try:
                ctx.check()
                time.sleep(0.005)
            except Exception:  # noqa: BLE001
                happened.append("caught")
            except BaseException as error:
                happened.append(type(error).__name__)
                raise

    async with working() as worker:
        handle = await work.submit()
        await asyncio.to_thread(started.wait)
        await handle.cancel()
        await idle(worker)
    assert happened == ["AttemptLost"]


@pytest.mark.parametrize("call", ["step", "progress", "sleep"])
async def test_every_call_of_the_context_notices(app: App, working: Working, call: str) -> None:
    """Before the heartbeat does: the store refuses, and the handler stops."""
    happened: list[str] = []

    @app.task
    async def work(ctx: Context) -> None:
        await app.engine.cancel(ctx.id)
        try:
            if call == "step":
                await ctx.step("a", lambda: 1)
            elif call == "progress":
                await ctx.progress(1)
            else:
                await ctx.sleep(60)
            happened.append("went on")
        except Exception:  # noqa: BLE001
            happened.append("caught")
        except BaseException as error:
            happened.append(type(error).__name__)
            raise

    async with working(lease_ms=30_000) as worker:
        handle = await work.submit()
        with pytest.raises(ExecutionFailed):
            await handle.result(timeout=5)
        await idle(worker)
    assert happened == ["AttemptLost"]


async def test_a_cancelled_step_of_a_gather_ends_the_attempt_quietly(
    app: App, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """No stray exception is left in the event loop."""
    attempts: list[asyncio.Task[None] | None] = []

    @app.task
    async def work(ctx: Context) -> None:
        attempts.append(asyncio.current_task())
        await app.engine.cancel(ctx.id)
        await ctx.gather(ctx.step("a", lambda: 1), ctx.step("b", lambda: 2))

    async with working(lease_ms=30_000) as worker:
        handle = await work.submit()
        with pytest.raises(ExecutionFailed):
            await handle.result(timeout=5)
        await idle(worker)
    (attempt,) = attempts
    assert attempt is not None
    assert attempt.exception() is None
    assert not [r for r in caplog.records if r.name == "asyncio"]


async def test_a_sleeping_thread_wakes_up_when_its_lease_is_lost(
    app: App, working: Working
) -> None:
    """It does not sleep to the end first."""
    asleep = threading.Event()

    @app.task
    def work(ctx: SyncContext) -> None:
        ctx.step("before", asleep.set)
        ctx.sleep(0.99)

    started = time.monotonic()
    async with working() as worker:
        handle = await work.submit()
        await asyncio.to_thread(asleep.wait)
        await handle.cancel()
        await idle(worker)
    assert time.monotonic() - started < 0.9


async def test_an_attempt_that_takes_too_long_is_ended(
    app: App, working: Working, engine: Engine
) -> None:
    """It is cancelled and uses up a retry."""
    happened: list[str] = []

    @app.task(timeout=0.1, retries=at_once(2))
    async def work(ctx: Context) -> str:
        if ctx.attempt == 1:
            return "second"
        try:
            await asyncio.Event().wait()
        finally:
            happened.append("stopped")
        return "not reached"

    async with working() as worker:
        handle = await work.submit()
        assert await handle.result(timeout=5) == "second"
        await idle(worker)
    outcomes = [attempt.outcome for attempt in await engine.attempts(handle.id)]
    assert outcomes == ["timed_out", "completed"]
    assert happened == ["stopped"]


async def test_a_late_attempt_does_not_disturb_the_next_on_the_same_worker(
    app: App, working: Working, engine: Engine
) -> None:
    """The end of a thread that nobody waits for must not let go of the lease of its successor."""
    first_runs, release_first = threading.Event(), threading.Event()
    second_runs, first_ended, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()

    @app.task
    def work(ctx: SyncContext) -> int:
        if ctx.claim.lease.epoch == 1:
            first_runs.set()
            release_first.wait(10)
            loop.call_soon_threadsafe(first_ended.set)
            return 1
        if ctx.claim.lease.epoch == 2:
            loop.call_soon_threadsafe(second_runs.set)
            deadline = time.monotonic() + 1.8
            while time.monotonic() < deadline:
                ctx.check()
                time.sleep(0.01)
        return ctx.claim.lease.epoch

    async with working():
        handle = await work.submit()
        await asyncio.to_thread(first_runs.wait)
        await engine.revoke_lease(handle.id)
        async with asyncio.timeout(5):
            await second_runs.wait()
            release_first.set()
            await first_ended.wait()
        assert await handle.result(timeout=5) == 2
    described = await handle.describe()
    assert (described.reclaims, described.epoch) == (0, 2)


async def test_draining_waits_for_an_attempt_that_follows_a_late_one(
    app: App, working: Working, engine: Engine
) -> None:
    """It is still running, so it is finished first."""
    second_runs, loop = asyncio.Event(), asyncio.get_running_loop()
    first_runs, release_first = threading.Event(), threading.Event()
    release_second = threading.Event()
    ended: list[int] = []

    @app.task
    def work(ctx: SyncContext) -> int:
        epoch = ctx.claim.lease.epoch
        first_runs.set()
        if epoch == 2:
            loop.call_soon_threadsafe(second_runs.set)
        (release_first if epoch == 1 else release_second).wait(10)
        ended.append(epoch)
        return epoch

    async with working() as worker:
        handle = await work.submit()
        await asyncio.to_thread(first_runs.wait)
        await engine.revoke_lease(handle.id)
        async with asyncio.timeout(5):
            await second_runs.wait()
        release_first.set()
        await settled(lambda: ended == [1])
        worker.drain()
        loop.call_later(0.3, release_second.set)
    assert await handle.state() is State.COMPLETED
    assert await handle.result(timeout=5) == 2


async def test_a_thread_that_waits_learns_it_although_another_one_calls(
    app: App, working: Working
) -> None:
    """The wait for a child, which may take days, ends."""
    submitted, called = threading.Event(), threading.Event()
    happened: list[str] = []

    @app.task(lane="none")
    def child() -> None: ...

    @app.task
    def work(ctx: SyncContext) -> None:
        handle = ctx.submit(child)

        def report() -> None:
            submitted.wait()
            while not ctx._context.waiting:
                time.sleep(0.005)
            ctx.progress(1)
            called.set()

        threading.Thread(target=report).start()
        submitted.set()
        try:
            ctx.result(handle)
        except BaseException as error:
            happened.append(type(error).__name__)
            raise

    async with working(lanes=("default",)) as worker:
        handle = await work.submit()
        assert await asyncio.to_thread(called.wait, 5)
        await handle.cancel()
        await idle(worker)
    assert happened == ["AttemptLost"]
