"""What steps that run in parallel raise reaches the runner as if they had run alone."""

from __future__ import annotations

import pytest

from holdfast import App, Context, GiveUp, SyncContext
from holdfast.errors import ExecutionFailed, HoldfastError
from holdfast.testing import TestApp
from holdfast.testing.plugin import Attach

app = App("embedded://never-opened")


def refuse() -> str:
    raise GiveUp("never")


def break_down() -> str:
    raise ValueError("bad")


@app.task
async def sleeps_beside_a_step(ctx: Context) -> str:
    await ctx.gather(ctx.step("beside", str), ctx.sleep(3600))
    return "done"


@app.task(retries=3)
async def gives_up_in_parallel(ctx: Context) -> None:
    await ctx.gather(ctx.step("one", refuse), ctx.step("two", str))


@app.task
async def breaks_in_parallel(ctx: Context) -> None:
    await ctx.gather(ctx.step("one", break_down), ctx.step("two", str))


@pytest.fixture
async def t(holdfast_app: Attach) -> TestApp:
    """The app of this module."""
    return await holdfast_app(app)


async def test_a_sleep_in_a_gather_gives_the_slot_back(t: TestApp) -> None:
    """It pauses the attempt, which goes on later; it does not break it."""
    handle = await sleeps_beside_a_step.submit()
    await t.run_until_idle()
    assert await t.result(handle) == "done"
    assert len(await t.engine.attempts(handle.id)) == 1


async def test_give_up_in_a_gather_ends_the_execution(t: TestApp) -> None:
    """It is not retried."""
    handle = await gives_up_in_parallel.submit()
    await t.run_until_idle()
    with pytest.raises(ExecutionFailed, match="never"):
        await t.result(handle)
    assert len(await t.engine.attempts(handle.id)) == 1


async def test_an_error_in_a_gather_keeps_its_type(t: TestApp) -> None:
    """Retry policies name error types, so a group around them would defeat `give_up_on`."""
    with pytest.raises(ExecutionFailed) as failed:
        await t.run(breaks_in_parallel)
    assert failed.value.context["error"]["type"] == "ValueError"


def test_a_task_of_a_process_pool_cannot_take_a_context() -> None:
    """There is no context in another process; the declaration says so, not the first run."""

    def in_process(ctx: SyncContext) -> None: ...

    with pytest.raises(HoldfastError, match="context"):
        App().task(pool="process")(in_process)
