"""TestApp: an app's tasks run to idle in the test's process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast import App, Context, GiveUp, Retry, SyncContext, Task, use
from holdfast.errors import ExecutionFailed, HoldfastError, TaskNotFound
from holdfast.model.states import State
from holdfast.testing import NotIdle, TestApp, TestServer, TestStore
from holdfast.testing.plugin import Attach
from tests.support.fault_injection import meanwhile

app = App("embedded://never-opened")


@app.task
async def add(a: int, b: int) -> int:
    return a + b


@app.task
def add_in_thread(a: int, b: int) -> int:
    return a + b


@app.task(pool="process")
def add_in_process(a: int, b: int) -> int:
    return a + b


@app.task(retries=2)
async def third_time_lucky(ctx: Context) -> int:
    if ctx.attempt < 2:
        raise Retry("not yet")
    return ctx.attempt


@app.task
async def hopeless() -> None:
    raise ValueError("no way")


@app.task
async def sleepy(ctx: Context, hours: float) -> str:
    await ctx.sleep(hours * 3600)
    return "awake"


@app.task
def sleepy_in_thread(ctx: SyncContext, hours: float) -> str:
    ctx.sleep(hours * 3600)
    return "awake"


@app.task
async def parent(ctx: Context, hours: float) -> str:
    child = await ctx.submit(sleepy, hours)
    return f"child is {await ctx.result(child)}"


@app.task
def parent_in_thread(ctx: SyncContext, hours: float) -> str:
    child = ctx.submit(sleepy_in_thread, hours)
    return f"child is {ctx.result(child)}"


@app.task
async def parent_of_hopeless(ctx: Context) -> str:
    child = await ctx.submit(hopeless)
    try:
        await ctx.result(child)
    except ExecutionFailed as failed:
        return str(failed.context["error"]["message"])
    return "?"


@app.task(lane="gpu-lane", requires=("gpu",))
async def train() -> str:
    return "trained"


async def ledger() -> AsyncIterator[list[str]]:
    yield ["opened"]


@app.task
async def read_ledger(entries: list[str] = use(ledger)) -> str:  # noqa: B008
    return entries[0]


@pytest.fixture
async def t(holdfast_app: Attach) -> TestApp:
    """The app of this module on a store of its own."""
    return await holdfast_app(app)


@pytest.mark.parametrize("task", [add, add_in_thread, add_in_process])
async def test_run_returns_the_result_of_any_kind_of_function(
    t: TestApp, task: Task[..., Any, Any]
) -> None:
    """Coroutines, threads and process pools all run in the test's process."""
    assert await t.run(task, 2, b=3) == 5


async def test_nothing_runs_before_the_test_says_so(t: TestApp) -> None:
    """Submitted work waits for run_until_idle."""
    handle = await add.submit(1, 2)
    assert await handle.state() is State.WAITING
    assert await t.run_until_idle() == 1
    assert await handle.result(timeout=5) == 3


async def test_an_idle_app_is_idle_at_once(t: TestApp) -> None:
    """Nothing to do is no error."""
    assert await t.run_until_idle() == 0


async def test_retries_need_no_waiting(t: TestApp) -> None:
    """The clock moves over the backoffs."""
    started = t.clock.now_ms
    assert await t.run(third_time_lucky) == 2
    assert t.clock.now_ms - started >= 2_000


async def test_without_advance_a_retry_stays_due(t: TestApp) -> None:
    """The test decides when the backoff is over."""
    handle = await third_time_lucky.submit()
    assert await t.run_until_idle(advance=False) == 1
    assert await handle.state() is State.DELAYED
    await t.clock.advance(seconds=60)
    assert await t.run_until_idle(advance=False) == 1
    assert await handle.state() is State.DELAYED
    await t.clock.advance(seconds=60)
    assert await t.run_until_idle(advance=False) == 1
    assert await handle.state() is State.COMPLETED


@pytest.mark.parametrize("task", [sleepy, sleepy_in_thread])
async def test_long_sleeps_take_no_real_time(t: TestApp, task: Task[..., Any, Any]) -> None:
    """A sleep of a month ends as soon as nothing else is to do."""
    started = t.clock.now_ms
    assert await t.run(task, 24 * 30) == "awake"
    # The clock stands still while the task runs, so it may be ahead by the ms that it took.
    assert t.clock.now_ms - started == pytest.approx(24 * 30 * 3_600_000, abs=1_000)


@pytest.mark.parametrize("task", [parent, parent_in_thread])
async def test_a_parent_outlives_the_sleep_of_its_child(
    t: TestApp, task: Task[..., Any, Any]
) -> None:
    """A waiting parent keeps its lease while the clock jumps for days: it runs once."""
    handle = await task.submit(24 * 3)
    await t.run_until_idle()
    assert await t.result(handle) == "child is awake"
    assert [one.kind for one in await t.engine.attempts(handle.id)] == ["initial"]


async def test_a_waiting_parent_goes_on_in_a_later_call(t: TestApp) -> None:
    """With the clock under the test's control, a parent waits between two calls."""
    handle = await parent.submit(1)
    assert await t.run_until_idle(advance=False) == 2
    assert await handle.state() is State.ACTIVE
    await t.clock.advance(hours=1, seconds=1)
    assert await t.run_until_idle(advance=False) == 1
    assert await handle.result(timeout=5) == "child is awake"


@pytest.mark.parametrize("task", [parent, parent_in_thread])
async def test_a_test_may_end_while_a_parent_waits(t: TestApp, task: Task[..., Any, Any]) -> None:
    """Leaving the block ends what still waits, without hanging."""
    await task.submit(1)
    assert await t.run_until_idle(advance=False) == 2


async def test_the_failure_of_a_child_reaches_its_parent(t: TestApp) -> None:
    """It is raised by ctx.result."""
    assert await t.run(parent_of_hopeless) == "no way"


async def test_a_failure_keeps_what_the_function_raised_as_its_cause(t: TestApp) -> None:
    """Pytest shows the line of the task that failed."""
    with pytest.raises(ExecutionFailed, match="no way") as failed:
        await t.run(hopeless)
    assert isinstance(failed.value.__cause__, ValueError)


async def test_call_raises_what_the_function_raises(t: TestApp) -> None:
    """A direct call is about the function: no retries, its own error."""
    with pytest.raises(Retry, match="not yet"):
        await t.call(third_time_lucky)
    with pytest.raises(ValueError, match="no way"):
        await t.call(hopeless)
    assert await t.call(add, 1, 1) == 2


async def test_all_lanes_and_capabilities_are_served(t: TestApp) -> None:
    """A test need not know which worker would run the task."""
    assert await t.run(train) == "trained"
    assert await t.run(add.options(lane="elsewhere", requires=("eu",)), 1, 2) == 3


async def test_given_capabilities_are_all_that_the_worker_has(holdfast_app: Attach) -> None:
    """Routing can be tested: what nobody may run stays, and the error says why."""
    t = await holdfast_app(app, capabilities=("cpu",))
    with pytest.raises(NotIdle, match="gpu"):
        await t.run(train)


async def test_work_in_a_paused_lane_is_left(t: TestApp) -> None:
    """What cannot run does not keep the app from being idle."""
    await t.engine.lanes.pause("default")
    handle = await add.submit(1, 2)
    assert await t.run_until_idle() == 0
    with pytest.raises(NotIdle, match="paused"):
        await t.result(handle)


async def test_a_deadline_passes_while_work_waits(t: TestApp) -> None:
    """The clock moves on to deadlines too."""
    await t.engine.lanes.pause("default")
    handle = await add.options(deadline=600).submit(1, 2)
    await t.run_until_idle()
    assert await handle.state() is State.EXPIRED


async def test_completed_work_is_not_removed_by_the_clock(t: TestApp) -> None:
    """The clock stops before retention ends: results can be read."""
    assert await t.run(add, 1, 2) == 3
    before = t.clock.now_ms
    await t.run_until_idle()
    assert t.clock.now_ms == before


async def test_resources_are_opened_and_can_be_replaced(
    holdfast_store: TestStore, holdfast_app: Attach
) -> None:
    """A test gives its own value for a factory."""
    t = await holdfast_app(app)
    assert await t.run(read_ledger) == "opened"
    async with TestApp(app, store=holdfast_store, resources={ledger: ["fake"]}) as other:
        assert await other.run(read_ledger) == "fake"


async def test_endless_work_is_bounded() -> None:
    """A task that never ends its retries makes a clear error, not a hanging test."""
    own = App()

    @own.task(retries=9_999)
    async def never() -> None:
        raise Retry(after=0)

    async with TestApp(own) as t:
        await never.submit()
        with pytest.raises(NotIdle, match="still work after 50 attempts"):
            await t.run_until_idle(most=50)


async def test_a_task_that_hangs_is_named() -> None:
    """Real time is bounded too; the error says what runs."""
    own = App()

    @own.task
    async def hang() -> None:
        await asyncio.Event().wait()

    async with TestApp(own) as t:
        await hang.submit()
        with pytest.raises(NotIdle, match=r"running: hang \("):
            await t.run_until_idle(timeout_s=0.2)


async def test_a_timeout_ends_an_attempt_that_runs() -> None:
    """The test moves the clock while the task hangs; the task is cancelled."""
    own = App()
    started, ended = asyncio.Event(), asyncio.Event()

    @own.task(timeout=10)
    async def hang() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with TestApp(own) as t:
        handle = await hang.submit()
        running = asyncio.ensure_future(t.run_until_idle())
        await started.wait()
        await t.clock.advance(seconds=10)
        await t.beat()
        await running
        assert ended.is_set()
        assert (await handle.describe()).error == {
            "type": "attempt_timeout",
            "message": "the attempt ran longer than its timeout of 10 s",
        }


async def test_a_cancelled_execution_is_told() -> None:
    """Cancelling a running task of a thread raises at its next call of the context."""
    own = App()
    started, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    reached: list[str] = []

    @own.task
    def long(ctx: SyncContext) -> None:
        loop.call_soon_threadsafe(started.set)
        go_on.wait(10)
        reached.append("before")
        ctx.check()
        reached.append("after")

    async with TestApp(own) as t:
        handle = await long.submit()
        running = asyncio.ensure_future(t.run_until_idle())
        await started.wait()
        await handle.cancel("no longer wanted")
        await t.beat()
        go_on.set()
        await running
        assert reached == ["before"]
        assert await handle.state() is State.CANCELLED


async def test_work_of_another_app_is_an_error(t: TestApp) -> None:
    """A kind that the app lacks would wait for ever."""
    await t.engine.submit("of-somebody-else")
    with pytest.raises(TaskNotFound, match="of-somebody-else"):
        await t.run_until_idle()


async def test_give_up_ends_the_retries(t: TestApp) -> None:
    """User outcomes act as on a worker."""
    own = App()

    @own.task(retries=5)
    async def refuse(ctx: Context) -> None:
        raise GiveUp(f"at attempt {ctx.attempt}")

    async with TestApp(own, store=t.store) as other:
        with pytest.raises(ExecutionFailed, match="at attempt 0"):
            await other.run(refuse)


async def test_the_app_is_detached_at_the_end(holdfast_server: TestServer) -> None:
    """After the block the app is as it was before: not open."""
    own = App()
    async with TestApp(own, server=holdfast_server):
        assert own.engine is not None
    with pytest.raises(HoldfastError, match="not open"):
        _ = own.engine
    assert own.error_hooks == []


async def test_two_stores_of_one_server_do_not_meet(holdfast_server: TestServer) -> None:
    """Each block has an empty store."""
    own = App()

    @own.task
    async def one() -> int:
        return 1

    async with TestApp(own, server=holdfast_server):
        await one.submit()
        async with TestApp(own, server=holdfast_server) as second:
            assert await second.run_until_idle() == 0


async def test_a_real_worker_can_run_on_the_test_store(t: TestApp) -> None:
    """A test that wants threads and heartbeats takes the real worker."""
    async with app.worker():
        handle = await add.submit(20, 22)
        assert await handle.result(timeout=10) == 42
    assert t.app is app


async def test_an_attempt_is_busy_until_its_result_is_recorded(t: TestApp) -> None:
    """However long the store takes for it."""

    async def take_long() -> None:
        for _ in range(500):
            await t.engine.ping()

    with meanwhile(t.engine.store.client, "hf_execution_complete_all", take_long):
        assert await t.run(add, 1, 2) == 3
