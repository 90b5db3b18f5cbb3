"""Tasks whose executions are recorded by one version and continued by another.

Only names that every version has since the first recorded one may be used here.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from holdfast import App, Backoff, Context, RetryPolicy, Task

#: Longer than the recording takes, and over when it is read.
LATER_S = 20
LATER = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=LATER_S * 1_000))


@dataclass
class Workload:
    """An app, and what its code has done in this process."""

    app: App
    #: The steps that ran here, by task.
    ran: list[str] = field(default_factory=list)
    #: Set when the task `hang` is in the middle of its work.
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: dict[str, Task[Any, Any, Any]] = field(default_factory=dict)


def workload(store: str, *, is_recording: bool) -> Workload:  # noqa: C901 - many small tasks
    """Declare the tasks; while recording, some of them stop half-way."""
    load = Workload(App(store))
    app, ran = load.app, load.ran

    def note(name: str) -> str:
        ran.append(name)
        return name

    @app.task
    async def add(ctx: Context, a: int, b: int) -> int:
        await ctx.step("note", note, "add")
        return a + b

    @app.task
    async def broken() -> None:
        raise ValueError("it is broken")

    @app.task(retries=LATER)
    async def flaky(ctx: Context) -> str:
        await ctx.step("note", note, "flaky")
        if is_recording:
            raise ConnectionError("not yet")
        return "at last"

    @app.task
    async def nap(ctx: Context) -> str:
        await ctx.step("note", note, "nap")
        await ctx.sleep(LATER_S)
        return await ctx.step("awake", note, "awake")

    @app.task
    async def ask(ctx: Context) -> str:
        await ctx.step("note", note, "ask")
        answer = await ctx.wait_for("colour")
        return f"{answer}"

    @app.task
    async def hang(ctx: Context) -> str:
        await ctx.step("note", note, "hang")
        if is_recording:
            load.hanging.set()
            await asyncio.Event().wait()
        return "reclaimed"

    @app.task
    async def parent(ctx: Context) -> str:
        child = await ctx.submit(nap)
        await ctx.step("note", note, "parent")
        return f"my child is {await ctx.result(child)}"

    declared = (add, broken, flaky, nap, ask, hang, parent)
    load.tasks = {task.name: task for task in declared}
    return load
