"""Children: submitted once, waited for without a slot."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import App, Context, SyncContext
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from tests.integration.worker.conftest import Working, at_once

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True


async def test_a_parent_and_its_children_fit_into_one_slot(app: App, working: Working) -> None:
    """Three generations, results typed."""

    @app.task
    async def leaf(n: int) -> int:
        return n

    @app.task
    async def branch(ctx: Context, n: int) -> int:
        return 10 * await ctx.result(await ctx.submit(leaf, n))

    @app.task
    async def tree(ctx: Context) -> list[int]:
        handles = [await ctx.submit(branch, n=n) for n in range(3)]
        return await ctx.gather(*(ctx.result(handle) for handle in handles))

    async with working(slots=1) as worker:
        assert await (await tree.submit()).result(timeout=8) == [0, 10, 20]

        async def all_free() -> bool:
            return (worker._slots.free, worker._slots.busy) == (1, 0)

        await wait_for(all_free)


async def test_a_plain_parent_waits_for_an_async_child_in_one_slot(
    app: App, working: Working
) -> None:
    """It keeps its thread, not its slot."""

    @app.task
    async def leaf(n: int) -> int:
        return n

    @app.task
    def tree(ctx: SyncContext) -> int:
        return ctx.result(ctx.submit(leaf, 7))

    async with working(slots=1, threads=1):
        assert await (await tree.submit()).result(timeout=8) == 7


async def test_a_plain_parent_waits_for_a_plain_child_with_one_thread(
    app: App, working: Working, engine: Engine
) -> None:
    """As many parents as threads must not wait for ever for children that need a thread."""

    @app.task
    def leaf(n: int) -> int:
        return n

    @app.task
    def tree(ctx: SyncContext) -> int:
        return ctx.result(ctx.submit(leaf, 7))

    async with working(slots=2, threads=1):
        handle = await tree.submit()
        try:
            assert await handle.result(timeout=3) == 7
        finally:
            if await handle.state() is State.ACTIVE:
                await engine.cancel(f"{handle.id}~0.1")


async def test_the_failure_of_a_child_is_raised_in_its_parent(app: App, working: Working) -> None:
    """With the error of the child; the parent may go on without it."""

    @app.task
    async def leaf() -> None:
        raise KeyError("gone")

    @app.task
    async def careful(ctx: Context) -> str:
        try:
            await ctx.result(await ctx.submit(leaf))
        except ExecutionFailed as error:
            kind: str = error.context["error"]["type"]
            return kind
        return "not reached"

    @app.task
    async def careless(ctx: Context) -> None:
        await ctx.result(await ctx.submit(leaf))

    async with working(slots=1):
        assert await (await careful.submit()).result(timeout=5) == "KeyError"
        with pytest.raises(ExecutionFailed, match="gone") as failed:
            await (await careless.submit()).result(timeout=5)
    assert failed.value.context["error"]["type"] == "execution_failed"


async def test_a_second_attempt_finds_the_same_children(
    app: App, working: Working, engine: Engine
) -> None:
    """They do not run again; a replay has children of its own."""
    ran: list[int] = []

    @app.task
    async def leaf(n: int) -> int:
        ran.append(n)
        return n

    @app.task(retries=at_once(2))
    async def tree(ctx: Context) -> list[int]:
        handles = [await ctx.submit(leaf, n) for n in range(2)]
        results = [await ctx.result(handle) for handle in handles]
        if ctx.attempt == 0:
            raise ValueError
        assert all(handle.duplicate for handle in handles) == (ctx.claim.replays == 0)
        return results

    async with working():
        handle = await tree.submit()
        assert await handle.result(timeout=5) == [0, 1]
        assert sorted(ran) == [0, 1]
        await engine.replay(handle.id)
        assert await handle.result(timeout=5) == [0, 1]
        assert sorted(ran) == [0, 0, 1, 1]


async def test_children_belong_to_the_tenant_of_their_parent(
    app: App, working: Working, engine: Engine
) -> None:
    """Whatever the child's task was declared with; its other options hold."""

    @app.task(tags={"a": "b"}, priority=3)
    async def leaf() -> None: ...

    @app.task
    async def tree(ctx: Context) -> None:
        await ctx.result(await ctx.submit(leaf))

    async with working():
        await (await tree.options(tenant="acme").submit()).result(timeout=5)
    page = await engine.list(Filter(kind="leaf"))
    assert [(e.tenant, e.tags, e.priority) for e in page.items] == [("acme", {"a": "b"}, 3)]


async def test_a_child_may_have_a_parameter_called_task(app: App, working: Working) -> None:
    """The names of our own parameters are not the author's concern."""

    @app.task
    async def leaf(task: str) -> str:
        return task

    @app.task
    async def tree(ctx: Context) -> str:
        arguments: dict[str, Any] = {"task": "x"}
        return await ctx.result(await ctx.submit(leaf, **arguments))

    async with working():
        assert await (await tree.submit()).result(timeout=5) == "x"


async def test_a_cancelled_parent_stops_waiting(app: App, working: Working) -> None:
    """A worker does not keep what nobody wants any more."""

    @app.task(lane="elsewhere")
    async def leaf() -> None: ...

    @app.task
    async def tree(ctx: Context) -> None:
        await ctx.result(await ctx.submit(leaf))

    async with working(lanes=("default",)) as worker:
        handle = await tree.submit()
        await _waits(worker._attempts, 1)
        await handle.cancel()
        await _waits(worker._attempts, 0)


async def test_a_cancelled_plain_parent_stops_waiting(
    app: App, working: Working, engine: Engine
) -> None:
    """Its thread is needed by others."""

    @app.task(lane="elsewhere")
    async def leaf() -> None: ...

    @app.task
    def tree(ctx: SyncContext) -> None:
        ctx.result(ctx.submit(leaf))

    async with working(lanes=("default",)) as worker:
        handle = await tree.submit()
        child = f"{handle.id}~0.1"
        await wait_for(lambda: _exists(engine, child))
        await handle.cancel()
        try:
            await _waits(worker._attempts, 0)
        finally:
            await engine.cancel(child)


async def test_a_worker_drains_though_a_child_has_not_started(
    app: App, working: Working, engine: Engine
) -> None:
    """Nobody would ever run the child: the parent goes on elsewhere."""

    @app.task(lane="elsewhere")
    async def leaf() -> None: ...

    @app.task
    async def tree(ctx: Context) -> None:
        await ctx.result(await ctx.submit(leaf))

    async with working(lanes=("default",)) as worker:
        handle = await tree.submit()
        child = f"{handle.id}~0.1"
        await wait_for(lambda: _exists(engine, child))
        worker.drain()
        try:
            await _waits(worker._attempts, 0)
            assert await handle.state() is not State.ACTIVE
        finally:
            await engine.cancel(child)


async def _exists(engine: Engine, execution_id: str) -> bool:
    page = await engine.list()
    return any(found.id == execution_id for found in page.items)


async def _waits(attempts: dict[tuple[str, int], asyncio.Task[None]], count: int) -> None:
    async def reached() -> bool:
        return len(attempts) == count

    await wait_for(reached, timeout_s=3)
