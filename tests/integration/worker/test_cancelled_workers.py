"""A worker that is cancelled gives back what it holds, whatever it is doing."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from holdfast import App, Context, SyncContext, WorkerSettings
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed
from holdfast.model.states import State
from holdfast.worker.worker import Worker
from tests.integration.worker.conftest import Working

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True


async def test_a_cancelled_worker_returns_its_leases_and_claims_nothing_more(app: App) -> None:
    """What it ran, and what is submitted later, waits for another worker."""
    started = asyncio.Event()

    @app.task
    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    worker = Worker(app, WorkerSettings(lease_ms=30_000, slots=400))
    running = asyncio.ensure_future(worker.run())
    handle = await work.submit()
    await started.wait()
    running.cancel()
    await asyncio.wait([running])
    assert await handle.state() is State.WAITING
    left = [task.get_coro() for task in asyncio.all_tasks()]
    assert [one for one in left if getattr(one, "__name__", "") == "_claim"] == []


async def test_a_worker_that_is_cancelled_as_it_starts_executions_returns_all_leases(
    app: App, engine: Engine
) -> None:
    """Also of those that it has not started yet."""

    @app.task
    async def work() -> None:
        running.cancel()
        await asyncio.Event().wait()

    handles = [await work.submit() for _ in range(4)]
    worker = Worker(app, WorkerSettings(lease_ms=30_000))
    worker._at_once = 1
    running = asyncio.ensure_future(worker.run())
    await asyncio.wait([running])
    assert [await handle.state() for handle in handles] == [State.WAITING] * 4


async def test_what_is_claimed_as_the_worker_is_cancelled_is_returned(
    app: App, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leases that the store grants at that moment do not wait for their expiry."""

    @app.task
    async def work() -> None:
        await asyncio.Event().wait()

    claim = engine.store.executions.claim

    async def cancel_as_it_is_granted(*args: Any, **kwargs: Any) -> Any:
        claims = await claim(*args, **kwargs)
        if claims[0] and not running.cancelling():
            running.cancel()
            await asyncio.sleep(0.05)  # the worker ends meanwhile
        return claims

    monkeypatch.setattr(engine.store.executions, "claim", cancel_as_it_is_granted)
    handle = await work.submit()
    running = asyncio.create_task(Worker(app, WorkerSettings(lease_ms=30_000)).run())
    await asyncio.wait([running])
    assert running.cancelled()
    assert await handle.state() is State.WAITING


async def test_a_worker_that_is_cancelled_as_it_drains_returns_its_leases(app: App) -> None:
    """It would leave its attempts behind, without heartbeats."""
    started = asyncio.Event()

    @app.task
    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    worker = Worker(app, WorkerSettings(lease_ms=30_000))
    running = asyncio.ensure_future(worker.run())
    handle = await work.submit()
    await started.wait()
    worker.drain()
    with pytest.raises(TimeoutError):
        # It waits for the attempt; the end of this time cancels it.
        await asyncio.wait_for(running, 0.5)
    assert await handle.state() is State.WAITING
    assert not worker._attempts


@pytest.mark.parametrize("kind", ["async", "plain"])
@pytest.mark.parametrize("first", ["worker", "attempt"])
async def test_the_end_of_the_event_loop_is_no_failure_of_a_task(
    app: App, kind: str, first: str
) -> None:
    """`asyncio.run` cancels all that is left, in any order: the execution continues elsewhere."""
    started, told = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    @app.on_error
    def note(_ctx: Context, error: BaseException) -> None:
        failures.append(error)

    @app.task(name="async")
    async def coroutine_function() -> None:
        started.set()
        await asyncio.Event().wait()

    @app.task(name="plain")
    def function(ctx: SyncContext) -> None:
        started.set()
        try:
            while not told.wait(0.01):
                ctx.check()
        finally:
            told.set()

    worker = Worker(app, WorkerSettings(lease_ms=30_000))
    running = asyncio.ensure_future(worker.run())
    handle = await app.find(kind).submit()
    await asyncio.to_thread(started.wait)
    worker.drain()
    await asyncio.wait([running], timeout=0.5)
    ends = [*worker._attempts.values(), running]
    for each in ends if first == "attempt" else reversed(ends):
        each.cancel()
    await asyncio.wait(ends)
    described = await handle.describe()
    assert (described.state, described.failures) == (State.WAITING, 0)
    assert failures == []
    if kind == "plain":
        assert told.wait(5)


async def test_a_task_that_cancels_itself_has_failed(app: App, working: Working) -> None:
    """Returned to the lane, it would run again and again."""

    @app.task
    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed):
            await handle.result(timeout=5)


async def test_a_cancelled_worker_cancels_an_attempt_once(app: App) -> None:
    """What the task does about it is not interrupted."""
    started, cleaned_up = asyncio.Event(), asyncio.Event()

    @app.task
    async def work() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.3)
            cleaned_up.set()

    running = asyncio.ensure_future(Worker(app, WorkerSettings(lease_ms=30_000)).run())
    handle = await work.submit()
    await started.wait()
    running.cancel()
    await asyncio.wait([running])
    assert cleaned_up.is_set()
    assert await handle.state() is State.WAITING


async def test_a_cancelled_worker_hands_over_the_messages_that_it_has_read(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do not wait for the end of their locks."""
    notes = app.queue("notes", str)

    @app.consumer("notes")
    async def read(note: str) -> str:
        return note

    queues = app.engine.queues
    ack = queues.ack

    async def cancel_as_it_is_acked(*args: Any) -> Any:
        running.cancel()
        await asyncio.sleep(0.05)  # the worker ends meanwhile
        return await ack(*args)

    monkeypatch.setattr(queues, "ack", cancel_as_it_is_acked)
    await notes.define()
    await notes.push("hello")
    running = asyncio.create_task(Worker(app, WorkerSettings(lease_ms=30_000)).run())
    await asyncio.wait([running])
    assert running.cancelled()
    assert [cell.count for cell in await app.engine.count() if cell.kind == "read"] == [1]
