"""Durable sleeps: short ones keep the slot, long ones give it back."""

from __future__ import annotations

import functools
import time
from datetime import timedelta

import pytest

from holdfast import App, Context, Handle, SyncContext
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed
from holdfast.model.states import Hold, State
from holdfast.testing.polling import wait_for
from tests.integration.worker.conftest import Working, at_once, near

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True


@pytest.fixture
def long_from_50_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sleep of more than 50 ms is a long one."""
    monkeypatch.setattr("holdfast.worker.context.SHORTEST_PAUSE_MS", 50)


async def test_a_short_sleep_keeps_its_slot(app: App, working: Working, engine: Engine) -> None:
    """The execution stays with its worker."""
    slept: list[float] = []

    @app.task
    async def nap(ctx: Context) -> None:
        started = time.monotonic()
        await ctx.sleep(0.1)
        slept.append(time.monotonic() - started)

    @app.task
    def plain(ctx: SyncContext) -> None:
        started = time.monotonic()
        ctx.sleep(0.1)
        slept.append(time.monotonic() - started)

    async with working():
        for task in (nap, plain):
            handle = await task.submit()
            await handle.result(timeout=5)
            events = [event.event for event in await engine.history(handle.id)]
            assert "delayed" not in events
    assert all(0.08 < seconds < 1 for seconds in slept)


async def test_a_long_sleep_frees_the_only_slot(app: App, working: Working) -> None:
    """Something else runs meanwhile; the sleeper is held by its pause alone."""

    @app.task
    async def sleeper(ctx: Context) -> None:
        await ctx.sleep(timedelta(hours=1))

    @app.task
    def plain(ctx: SyncContext) -> None:
        ctx.sleep(3600)

    @app.task
    async def other() -> str:
        return "ran"

    async with working(slots=1, threads=1):
        for task in (sleeper, plain):
            handle = await task.submit()
            assert await (await other.submit()).result(timeout=5) == "ran"

            await wait_for(functools.partial(_is_delayed, handle))
            described = await handle.describe()
            assert described.hold is Hold.PAUSE
            assert described.run_at is not None
            left = described.run_at - described.created_at
            assert timedelta(minutes=59) < left < timedelta(minutes=61)
            await handle.cancel()


@pytest.mark.usefixtures("long_from_50_ms")
async def test_a_sleeper_goes_on_after_its_sleep(
    app: App, working: Working, engine: Engine
) -> None:
    """In the same attempt, with its steps, and not before the time."""
    ran: list[str] = []
    started = time.monotonic()

    @app.task
    async def work(ctx: Context) -> int:
        await ctx.step("before", ran.append, "before")
        await ctx.sleep(0.2)
        await ctx.step("between", ran.append, "between")
        await ctx.sleep(0.2, name="second")
        await ctx.step("after", ran.append, "after")
        return ctx.attempt

    async with working(slots=1):
        handle = await work.submit()
        assert await handle.result(timeout=8) == 0
    assert time.monotonic() - started > 0.4
    assert ran == ["before", "between", "after"]
    names = [step.name for step in await engine.steps(handle.id)]
    assert names == ["before", "sleep:1", "between", "second", "after"]
    described = await handle.describe()
    assert (described.attempts, described.reclaims) == (1, 0)


@pytest.mark.usefixtures("long_from_50_ms")
async def test_a_plain_function_sleeps_as_durably(app: App, working: Working) -> None:
    """It is run again from the start and finds its sleep over."""
    ran: list[str] = []

    @app.task
    def work(ctx: SyncContext) -> str:
        ctx.step("before", ran.append, "before")
        ctx.sleep(0.2)
        ctx.step("after", ran.append, "after")
        return "awake"

    async with working(slots=1):
        assert await (await work.submit()).result(timeout=8) == "awake"
    assert ran == ["before", "after"]


@near
async def test_a_sleep_ends_when_it_was_to_end_whatever_happens(
    app: App, working: Working, engine: Engine
) -> None:
    """A later attempt sleeps only for the rest."""

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> None:
        await ctx.sleep(0.3)
        if ctx.attempt == 0:
            raise ValueError

    started = time.monotonic()
    async with working():
        handle = await work.submit()
        await handle.result(timeout=5)
    assert 0.3 < time.monotonic() - started < 0.6
    assert [step.name for step in await engine.steps(handle.id)] == ["sleep:1"]


async def test_no_sleep_at_all_is_a_sleep_too(app: App, working: Working) -> None:
    """Zero is a duration, less is not."""

    @app.task
    async def work(ctx: Context, seconds: float) -> str:
        await ctx.sleep(seconds)
        return "awake"

    async with working():
        assert await (await work.submit(0)).result(timeout=5) == "awake"
        with pytest.raises(ExecutionFailed, match="duration: must be"):
            await (await work.submit(-1)).result(timeout=5)


async def test_two_sleeps_may_not_share_a_name(app: App, working: Working) -> None:
    """The second would be over at once."""

    @app.task
    async def work(ctx: Context) -> None:
        await ctx.sleep(0, name="pause")
        await ctx.sleep(0, name="pause")

    async with working():
        with pytest.raises(ExecutionFailed, match="two steps are called 'pause'"):
            await (await work.submit()).result(timeout=5)


@pytest.mark.usefixtures("long_from_50_ms")
async def test_an_attempt_timeout_does_not_run_during_a_long_sleep(
    app: App, working: Working
) -> None:
    """Only work counts."""

    @app.task(timeout=0.3)
    async def work(ctx: Context) -> str:
        await ctx.sleep(0.5)
        return "awake"

    async with working():
        assert await (await work.submit()).result(timeout=5) == "awake"


async def _is_delayed(handle: Handle[None]) -> bool:
    return await handle.state() is State.DELAYED
