"""Steps that run side by side, and code that no longer fits its journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from holdfast import App, Context, GiveUp, RetryPolicy
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed
from tests.integration.worker.conftest import Working, at_once, suspended


class Crash(Exception):
    """Stands for whatever ends an attempt."""


async def test_steps_of_a_gather_run_together_and_answer_in_order(
    app: App, working: Working
) -> None:
    """Each waits for the other, so one after the other would never end."""
    meeting = asyncio.Barrier(2)

    async def meet(name: str) -> str:
        await meeting.wait()
        return name

    @app.task
    async def work(ctx: Context) -> list[str]:
        return await ctx.gather(ctx.step("a", meet, "a"), ctx.step("b", meet, "b"))

    async with working():
        assert await (await work.submit()).result(timeout=5) == ["a", "b"]


async def test_only_the_missing_steps_of_a_gather_run_again(app: App, working: Working) -> None:
    """The order in which they were recorded does not matter."""
    ran: list[int] = []

    async def square(n: int, attempt: int) -> int:
        if attempt == 0 and n in {0, 2}:
            await asyncio.sleep(0.05)
            raise Crash
        ran.append(n)
        return n * n

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> list[int]:
        return await ctx.gather(*(ctx.step(f"s{n}", square, n, ctx.attempt) for n in range(4)))

    async with working():
        assert await (await work.submit()).result(timeout=5) == [0, 1, 4, 9]
    assert sorted(ran) == [0, 1, 2, 3]


async def test_an_error_in_a_gather_is_the_error_of_the_task(app: App, working: Working) -> None:
    """Retry policies and readers know it by its own type."""

    @app.task(retries=RetryPolicy(max_attempts=3, give_up_on=("ValueError",)))
    async def work(ctx: Context) -> None:
        await ctx.gather(ctx.step("good", lambda: 1), ctx.step("bad", int, "x"))

    async with working():
        with pytest.raises(ExecutionFailed) as failed:
            await (await work.submit()).result(timeout=5)
    assert failed.value.context["error"]["type"] == "ValueError"


async def test_giving_up_in_a_gather_is_final(app: App, working: Working) -> None:
    """Whatever the policy says."""

    def hopeless() -> None:
        raise GiveUp("no use")

    @app.task(retries=at_once(3))
    async def work(ctx: Context) -> None:
        await ctx.gather(ctx.step("bad", hopeless))

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed):
            await handle.result(timeout=5)
    assert (await handle.describe()).attempts == 1


async def test_a_long_sleep_in_a_gather_pauses_the_task(
    app: App, working: Working, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wakes up and goes on, without having lost a worker."""
    monkeypatch.setattr("holdfast.worker.context.SHORTEST_PAUSE_MS", 50)

    @app.task
    async def work(ctx: Context) -> str:
        await ctx.gather(ctx.step("a", lambda: None), ctx.sleep(0.3))
        return "awake"

    async with working():
        handle = await work.submit()
        assert await handle.result(timeout=8) == "awake"
    assert (await handle.describe()).reclaims == 0
    assert [attempt.outcome for attempt in await engine.attempts(handle.id)] == ["completed"]


Together = Callable[[Context, Awaitable[str], Awaitable[str]], Awaitable[None]]


async def with_gather(ctx: Context, left: Awaitable[str], right: Awaitable[str]) -> None:
    """Run branches in the way of the context."""
    await ctx.gather(left, right)


async def with_asyncio(_ctx: Context, left: Awaitable[str], right: Awaitable[str]) -> None:
    """Run branches in the way of asyncio."""
    await asyncio.gather(left, right)


@pytest.mark.parametrize("together", [with_gather, with_asyncio])
async def test_branches_of_several_steps_go_on_where_each_was(
    app: App, working: Working, together: Together
) -> None:
    """One branch was at its first step, the other far ahead, when the attempt ended."""

    def stop_at(attempt: int) -> str:
        if attempt == 0:
            raise Crash
        return "went on"

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> str:
        ahead = asyncio.Event()

        async def slow() -> str:
            await ctx.step("slow 1", lambda: "slow")
            if ctx.attempt == 0:
                await ahead.wait()
            return await ctx.step("slow 2", stop_at, ctx.attempt)

        async def fast() -> str:
            await ctx.step("fast 1", lambda: "fast")
            await ctx.step("fast 2", lambda: "fast")
            ahead.set()
            return "fast"

        await together(ctx, slow(), fast())
        return "done"

    async with working():
        assert await (await work.submit()).result(timeout=5) == "done"


@pytest.mark.parametrize(
    ("steps", "expected", "found"),
    [
        (["charge card", "mail"], "charge", "the new step 'charge card'"),
        (["mail"], "charge", "its end"),
        ([], "charge', 'mail", "its end"),
    ],
)
async def test_code_that_no_longer_fits_its_journal_is_suspended(
    app: App, working: Working, steps: list[str], expected: str, found: str
) -> None:
    """A step was renamed or removed: both names are shown, nothing runs, no retry is used."""
    ran: list[str] = []

    @app.task(retries=at_once(5))
    async def pay(ctx: Context) -> None:
        names = ["charge", "mail"] if ctx.attempt == 0 else steps
        for name in names:
            await ctx.step(name, ran.append, name)
        if ctx.attempt == 0:
            raise Crash

    async with working():
        handle = await pay.submit()
        why = await suspended(handle)
    assert f"Earlier attempts recorded '{expected}'" in why
    assert f", but the code reached {found} without asking for it" in why
    assert why.endswith(f"Deploy code that fits, then run `holdfast resume {handle.id}`.")
    assert ran == ["charge", "mail"]
    assert (await handle.describe()).attempts == 2


async def test_a_mismatch_that_user_code_swallows_still_suspends(
    app: App, working: Working
) -> None:
    """A broad `except` around a step must not hide it."""

    @app.task(retries=at_once(5))
    async def pay(ctx: Context) -> str:
        name = "charge" if ctx.attempt == 0 else "charge card"
        try:
            await ctx.step(name, lambda: 1)
        except Exception:  # noqa: BLE001
            return "compensated"
        raise Crash

    async with working():
        why = await suspended(await pay.submit())
    assert "Was step 'charge' removed?" in why


async def test_new_steps_after_the_recorded_ones_are_welcome(app: App, working: Working) -> None:
    """Code may grow at its end while executions are under way."""

    @app.task(retries=at_once(2))
    async def pay(ctx: Context) -> list[str]:
        results = [await ctx.step("charge", lambda: "charged")]
        if ctx.attempt == 0:
            raise Crash
        return [*results, await ctx.step("thank", lambda: "thanked")]

    async with working():
        assert await (await pay.submit()).result(timeout=5) == ["charged", "thanked"]
