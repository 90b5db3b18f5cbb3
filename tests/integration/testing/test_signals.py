"""Signals and views in the testing kit: waits, answers, the clock, crashes everywhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import App, Context
from holdfast.model.states import State
from holdfast.testing import NotIdle, TestApp, crash_everywhere

app = App()


def successor(n: int) -> int:
    """Return the next number."""
    return n + 1


@app.task(retries=3)
async def collect(ctx: Context) -> list[Any]:
    """Add up numbers until it is stopped."""
    total = 0
    async for signal in ctx.signals("add", "stop", timeout=3_600):
        if signal.name == "stop":
            return [total, "stopped"]
        total = await ctx.step(f"add-{signal.value}", successor, signal.value) + total
        await ctx.set_view({"total": total})
    return [total, "timed out"]


@app.task
async def beside(ctx: Context) -> Any:
    """Listen beside another wait."""

    async def listen() -> Any:
        signal = await ctx.signals("go").get()
        return signal and signal.value

    task = asyncio.create_task(listen())
    await asyncio.sleep(0)
    return await task


@pytest.fixture
async def t() -> Any:
    async with TestApp(app) as t:
        yield t


async def test_answers_are_sent_as_signals(t: TestApp) -> None:
    """In the order of the calls, each once for each execution."""
    t.answer("add", payload=1)
    t.answer("add", payload=2)
    t.answer("stop")
    assert await t.run(collect) == [5, "stopped"]


async def test_the_clock_ends_a_wait(t: TestApp) -> None:
    """An hour passes at once."""
    assert await t.run(collect) == [0, "timed out"]


async def test_a_crash_anywhere_loses_no_signal(t: TestApp) -> None:
    """Each attempt sees the same signals; none is received twice, and none is lost."""
    t.answer("add", payload=1)
    t.answer("add", payload=2)
    t.answer("stop")
    report = await crash_everywhere(t, collect)
    assert report.result == [5, "stopped"]


async def test_a_wait_beside_others_is_idle(t: TestApp) -> None:
    """It goes on when the test sends the signal."""
    handle = await beside.submit()
    await t.run_until_idle()
    with pytest.raises(NotIdle):
        await t.result(handle)
    assert await handle.state() is State.ACTIVE
    await handle.send("go", 7)
    await t.run_until_idle()
    assert await t.result(handle) == 7
