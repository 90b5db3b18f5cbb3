"""Hooks around attempts, and resources that tasks share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from holdfast import App, Context, SyncContext, use
from holdfast.errors import ExecutionFailed
from tests.integration.worker.conftest import Working, at_once


async def test_hooks_run_around_every_attempt(app: App, working: Working) -> None:
    """Plain and async ones, in the order of registration; errors go to their own."""
    happened: list[str] = []

    @app.before
    def first(ctx: Context) -> None:
        happened.append(f"before {ctx.attempt}")

    @app.before
    async def second(ctx: Context) -> None:
        await asyncio.sleep(0)
        happened.append(f"also before {ctx.attempt}")

    @app.after
    async def after(ctx: Context) -> None:
        happened.append(f"after {ctx.attempt}")

    @app.on_error
    async def on_error(ctx: Context, error: Exception) -> None:
        happened.append(f"error {ctx.attempt} {error}")

    @app.task(retries=at_once(2))
    def work(ctx: SyncContext) -> str:
        happened.append(f"run {ctx.attempt}")
        if ctx.attempt == 0:
            raise ValueError("why")
        return "done"

    async with working():
        assert await (await work.submit()).result(timeout=5) == "done"
    assert happened == [
        "before 0", "also before 0", "run 0", "error 0 why",
        "before 1", "also before 1", "run 1", "after 1",
    ]  # fmt: skip


async def test_a_hook_that_fails_before_the_task_fails_the_attempt(
    app: App, working: Working
) -> None:
    """The task does not run."""
    ran: list[int] = []

    @app.before
    def guard(_ctx: Context) -> None:
        raise PermissionError("not allowed")

    @app.task
    async def work() -> None:
        ran.append(1)

    async with working():
        with pytest.raises(ExecutionFailed, match="not allowed"):
            await (await work.submit()).result(timeout=5)
    assert ran == []


async def test_an_error_hook_that_fails_does_not_hide_the_error(app: App, working: Working) -> None:
    """The error of the task is the outcome."""

    @app.on_error
    def broken(_ctx: Context, _error: Exception) -> None:
        raise RuntimeError("broken hook")

    @app.task
    async def work() -> None:
        raise ValueError("why")

    async with working():
        with pytest.raises(ExecutionFailed, match="why"):
            await (await work.submit()).result(timeout=5)


async def test_resources_are_shared_and_closed_with_the_worker(app: App, working: Working) -> None:
    """Opened at the first use, by async and plain tasks alike; closed after the last attempt."""
    happened: list[str] = []

    async def pool() -> AsyncIterator[list[str]]:
        happened.append("open pool")
        yield ["connection"]
        happened.append("close pool")

    def cache() -> Iterator[dict[str, int]]:
        happened.append("open cache")
        yield {}
        happened.append("close cache")

    @app.task
    async def work(n: int, db: list[str] = use(pool), seen: dict[str, int] = use(cache)) -> str:  # noqa: B008
        seen[f"work {n}"] = n
        return db[0]

    @app.task
    def plain(ctx: SyncContext, seen: dict[str, int] = use(cache)) -> list[str]:  # noqa: B008
        return sorted(seen)

    async with working():
        assert happened == []
        for n in range(2):
            assert await (await work.submit(n)).result(timeout=5) == "connection"
        assert await (await plain.submit()).result(timeout=5) == ["work 0", "work 1"]
        assert happened == ["open pool", "open cache"]
    assert happened == ["open pool", "open cache", "close cache", "close pool"]


async def test_attempts_that_start_together_share_one_resource(app: App, working: Working) -> None:
    """Though it takes a while to open."""
    opened: list[int] = []

    async def pool() -> int:
        opened.append(1)
        await asyncio.sleep(0.05)
        return len(opened)

    @app.task
    async def work(number: int = use(pool)) -> int:
        return number

    async with working():
        handles = await work.submit_many([{}] * 5)
        results = await asyncio.gather(*(handle.result(timeout=5) for handle in handles))
    assert results == [1] * 5


async def test_a_resource_that_cannot_be_opened_fails_the_attempt_only(
    app: App, working: Working
) -> None:
    """The next attempt tries again."""
    tries: list[int] = []

    async def database() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("down")
        return "up"

    @app.task(retries=at_once(2))
    async def work(state: str = use(database)) -> str:
        return state

    async with working():
        handle = await work.submit()
        assert await handle.result(timeout=5) == "up"
    assert (await handle.describe()).attempts == 2
