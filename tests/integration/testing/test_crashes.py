"""Workers that die at the worst moments."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from holdfast import App, Context, Retry, SyncContext, Task
from holdfast.errors import ExecutionFailed
from holdfast.testing import CrashesMatter, CrashRun, CrashTest, TestApp, crash_everywhere
from holdfast.testing.plugin import Attach

app = App("embedded://never-opened")
calls: Counter[str] = Counter()


def do(what: str) -> str:
    """Do something that other systems would notice."""
    calls[what] += 1
    return what


@app.task
async def order(ctx: Context, number: int) -> list[str]:
    paid = await ctx.step("pay", do, f"pay {number}")
    await ctx.sleep(3600)
    sent = await ctx.step("send", do, f"send {number}")
    return [paid, sent]


@app.task
def order_in_thread(ctx: SyncContext, number: int) -> list[str]:
    paid = ctx.step("pay", do, f"pay {number}")
    ctx.sleep(3600)
    sent = ctx.step("send", do, f"send {number}")
    return [paid, sent]


@app.task
async def parallel(ctx: Context) -> list[str]:
    return await ctx.gather(
        ctx.step("a", do, "a"),
        ctx.step("b", do, "b"),
        ctx.step("c", do, "c"),
    )


@app.task
async def part(number: int) -> int:
    do(f"part {number}")
    return number * number


@app.task
async def fan_out(ctx: Context, count: int) -> int:
    children = [await ctx.submit(part, number) for number in range(count)]
    await ctx.step("submitted", do, "submitted")
    return sum([await ctx.result(child) for child in children])


@app.task(retries=1)
async def stumble(ctx: Context) -> str:
    await ctx.step("first", do, "first")
    if ctx.attempt == 0:
        raise Retry("once more")
    return await ctx.step("second", do, "second")


@app.task
async def tidy(ctx: Context) -> str:
    """Tries to write in its last moment, which a killed process cannot."""
    try:
        return await ctx.step("work", do, "work")
    finally:
        await ctx.step("tidy", do, "tidy")


@app.task
async def counts_attempts(ctx: Context) -> int:
    await ctx.step("first", do, "first")
    return ctx.attempt


@app.task
async def random_names(ctx: Context) -> str:
    for _ in range(2):
        await ctx.step(f"step {random.random()}", do, "step")
    return "done"


@app.task
async def forgetful(ctx: Context) -> str:
    """Records by hand, without looking whether it was recorded before."""
    ctx.journal.ask("by hand")
    return (await ctx.record("by hand", do("by hand").encode())).decode()


@app.task
async def careless(ctx: Context) -> str:
    await ctx.step("safe", do, "safe")
    return do("unsafe")


@app.task
async def hopeless() -> None:
    raise ValueError("no way")


@pytest.fixture
async def t(holdfast_app: Attach) -> TestApp:
    """The app of this module; nothing has been done."""
    calls.clear()
    return await holdfast_app(app)


async def test_a_killed_task_goes_on_after_its_last_step(t: TestApp) -> None:
    """The step before the kill is not run again; the history tells of the lost lease."""
    t.kill_after("pay")
    handle = await order.submit(7)
    await t.run_until_idle()
    assert await t.result(handle) == ["pay 7", "send 7"]
    assert calls == {"pay 7": 1, "send 7": 1}
    attempts = await t.engine.attempts(handle.id)
    assert [(one.kind, one.outcome) for one in attempts] == [
        ("initial", "lease_expired"),
        ("reclaim", "completed"),
    ]


async def test_the_lease_of_a_killed_worker_must_expire_first(t: TestApp) -> None:
    """As after a real kill, nobody knows until the lease is over."""
    t.kill_after("pay")
    await order.submit(7)
    assert await t.run_until_idle(advance=False) == 1
    await t.clock.advance(seconds=29)
    assert await t.run_until_idle(advance=False) == 0
    await t.clock.advance(seconds=1)
    assert await t.run_until_idle(advance=False) == 1


async def test_a_worker_is_killed_once(t: TestApp) -> None:
    """The order to kill is used up by the first kill."""
    t.kill_after("pay")
    first, second = await order.submit(1), await order.submit(2)
    await t.run_until_idle()
    reclaims = [(await one.describe()).reclaims for one in (first, second)]
    assert sorted(reclaims) == [0, 1]


async def test_a_killed_worker_writes_nothing_in_its_last_moment(t: TestApp) -> None:
    """`finally` runs in the test's process, but its writes are refused as after a kill."""
    t.kill_after("work")
    handle = await tidy.submit()
    await t.run_until_idle(advance=False)
    assert [step.name for step in await t.engine.steps(handle.id)] == ["work"]
    await t.run_until_idle()
    assert calls == {"work": 1, "tidy": 1}


@pytest.mark.parametrize("task", [order, order_in_thread])
async def test_steps_and_sleeps_survive_a_crash_after_each(
    t: TestApp, task: Task[[int], list[str], Any]
) -> None:
    """One run undisturbed, one for each of three checkpoints, one at the end."""
    report = await crash_everywhere(t, task, 7)
    assert report.result == ["pay 7", "send 7"]
    assert [run.killed_after for run in report.runs] == [
        None,
        "step 'pay' (1 of 4)",
        "step 'sleep:1' (2 of 4)",
        "step 'send' (3 of 4)",
        "its last line (4 of 4)",
    ]
    assert calls == {"pay 7": 5, "send 7": 5}
    assert str(report).endswith("killed 4 times, the same result ['pay 7', 'send 7'] each time")


async def test_parallel_steps_survive_crashes(t: TestApp) -> None:
    """Whichever is recorded first, the result is the same and none is recorded twice."""
    report = await crash_everywhere(t, parallel)
    assert report.result == ["a", "b", "c"]
    assert len(report.runs) == 5


async def test_children_are_found_again_after_a_crash(t: TestApp) -> None:
    """A parent killed while it submits or waits has the same children, each run once."""
    report = await crash_everywhere(t, fan_out, 3)
    assert report.result == 5
    kinds = [str(run.killed_after).split(" ", 1)[0] for run in report.runs[1:]]
    assert kinds == ["child", "child", "child", "step", "its"]
    assert {calls[f"part {n}"] for n in range(3)} == {6}


async def test_a_task_that_retries_can_be_killed_too(t: TestApp) -> None:
    """Boundaries of all attempts count."""
    report = await crash_everywhere(t, stumble)
    assert (report.result, len(report.runs)) == ("second", 4)


async def test_a_result_that_depends_on_crashes_is_reported(t: TestApp) -> None:
    """The report names the boundary, what was expected and what came."""
    with pytest.raises(CrashesMatter) as raised:
        await crash_everywhere(t, counts_attempts)
    assert str(raised.value).splitlines() == [
        "counts_attempts: 2 of 3 runs went wrong",
        "  killed after step 'first' (1 of 2): expected 0, got 1",
        "  killed after its last line (2 of 2): expected 0, got 1",
    ]


async def test_names_that_change_are_reported(t: TestApp) -> None:
    """Code that does not fit its journal fails visibly, and the report says how."""
    with pytest.raises(CrashesMatter, match="it failed: journal_mismatch: ") as raised:
        await crash_everywhere(t, random_names)
    assert len(raised.value.report.runs) == 4
    assert raised.value.report.runs[0].problems == ()


async def test_a_step_that_runs_again_is_reported(t: TestApp) -> None:
    """What was recorded before the crash must not be done after it."""
    with pytest.raises(CrashesMatter) as raised:
        await crash_everywhere(t, forgetful)
    assert raised.value.report.problems == [
        "killed after step 'by hand' (1 of 2): step 'by hand' ran again",
        "killed after its last line (2 of 2): step 'by hand' ran again",
    ]


async def test_effects_outside_of_steps_are_found_by_a_check(t: TestApp) -> None:
    """A check after each run sees what happened twice."""

    def once(run: CrashRun[str]) -> None:
        assert calls["unsafe"] == 1, "too often"

    crashes = CrashTest[str](t, before_each=calls.clear, after_each=once)
    with pytest.raises(CrashesMatter) as raised:
        await crashes.run(careless)
    assert raised.value.report.problems == [
        "killed after its last line (2 of 2): too often; assert 2 == 1"
    ]


async def test_results_can_be_compared_by_a_rule_of_ones_own(t: TestApp) -> None:
    """Where results may differ, the test says in what."""
    report = await CrashTest[int](t, same=lambda _a, _b: True).run(counts_attempts)
    assert [run.result for run in report.runs] == [0, 1, 1]


async def test_a_task_that_fails_anyway_cannot_be_tested(t: TestApp) -> None:
    """The undisturbed run must succeed; its error is raised as it is."""
    with pytest.raises(ExecutionFailed, match="no way"):
        await crash_everywhere(t, hopeless)


async def test_the_app_is_back_on_its_store_afterwards(t: TestApp) -> None:
    """Crash runs leave the test's own store as it was."""
    handle = await part.submit(3)
    await crash_everywhere(t, part, 2)
    assert app.engine is t.engine
    await t.run_until_idle()
    assert await t.result(handle) == 9
    assert len((await t.engine.list()).items) == 1


async def test_the_runs_have_the_same_id_and_time(t: TestApp) -> None:
    """So results that hold an id can be compared."""
    own = App()

    @own.task
    async def identity(ctx: Context) -> str:
        await ctx.step("first", asyncio.sleep, 0)
        return ctx.idempotency_key("first")

    async with TestApp(own, store=await t.store.fresh()) as other:
        report = await crash_everywhere(other, identity)
    assert len(report.runs) == 3
