"""Children that are bound to their parent, near the store and far from it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from holdfast import App, Context, SyncContext
from holdfast.errors import ExecutionFailed, ExecutionNotFound, InvalidInput
from holdfast.model.graphs import GraphState
from tests.integration.worker.conftest import Working

ALSO_OVER_HTTP = True


async def test_a_parent_takes_its_children_and_graphs_along(app: App, working: Working) -> None:
    """When it completes; those that are kept run on, and `explain` says so beforehand."""

    @app.task(delay=3_600)
    async def slow() -> None: ...

    @app.task
    async def start(ctx: Context) -> str:
        await ctx.submit(slow.options(on_parent_end="cancel"))
        await ctx.submit(slow)
        async with ctx.graph(on_parent_end="cancel") as graph:
            graph.add(slow)
        bound = await ctx.submit(slow.options(on_parent_end="fail_parent"))
        told = [(await app.engine.explain(one)).why for one in (ctx.id, bound.id)]
        return " | ".join(told)

    async with working():
        handle = await start.submit()
        told = await handle.result(timeout=10)
    assert "It has 3 children to cancel at its end." in told
    assert f"Its parent {handle.id} fails with it" in told
    for number, state in ((1, "cancelled"), (2, "delayed"), (3, "cancelled")):
        child = await app.engine.describe(f"{handle.id}~0.{number}")
        assert child.state == state
        assert child.parent == handle.id
    assert (await app.engine.describe(f"{handle.id}~0.1")).on_parent_end == "cancel"
    assert (await app.engine.describe(f"{handle.id}~0.2")).on_parent_end == "keep"
    graph = (await app.engine.graphs.describe(f"{handle.id}~0.g1")).graph
    assert (graph.state, graph.on_parent_end) == (GraphState.CANCELLED, "cancel")


@pytest.mark.parametrize("plain", [False, True])
async def test_a_parent_fails_with_its_child(app: App, working: Working, plain: bool) -> None:
    """At once, also where it waits for something else; its worker gives it up."""
    ended: list[str] = []

    @app.task(on_parent_end="fail_parent")
    async def broken() -> None:
        raise KeyError("gone")

    @app.task(delay=3_600)
    async def slow() -> None: ...

    async def start(ctx: Context) -> None:
        await ctx.submit(broken)
        await ctx.result(await ctx.submit(slow))
        ended.append("not reached")

    def plain_start(ctx: SyncContext) -> None:
        ctx.submit(broken)
        ctx.result(ctx.submit(slow))
        ended.append("not reached")

    task: Any = app.task(name="start")(plain_start if plain else start)
    async with working(slots=2):
        handle = await task.submit()
        with pytest.raises(ExecutionFailed) as failed:
            await handle.result(timeout=10)
        assert failed.value.context["error"]["type"] == "child_failed"
        # The child that the parent waited for is not bound; here it ends, so that the thread does.
        # The parent may have failed before it had submitted that one.
        with contextlib.suppress(ExecutionNotFound):
            await app.engine.cancel(f"{handle.id}~0.2")
    assert ended == []


async def test_a_top_level_execution_ignores_the_policy(app: App, working: Working) -> None:
    """A task may declare it for all its children."""

    @app.task(on_parent_end="cancel")
    async def free() -> int:
        return 1

    async with working():
        handle = await free.submit()
        assert await handle.result(timeout=10) == 1
    assert (await handle.describe()).on_parent_end is None
    with pytest.raises(InvalidInput, match="on_parent_end"):
        free.options(on_parent_end="explode")
