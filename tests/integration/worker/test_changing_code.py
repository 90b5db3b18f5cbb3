"""Executions that continue under other code than they began with."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal

import pytest

from holdfast import App, Chat, Context, SyncContext, WorkerSettings
from holdfast.errors import ExecutionFailed
from holdfast.model.states import Hold
from holdfast.testing.polling import wait_for
from holdfast.worker.handle import Handle
from holdfast.worker.task import Task
from tests.integration.worker.conftest import LEASE_MS, Working, at_once, suspended

ALSO_OVER_HTTP = True


class Shop:
    """Runs versions of one task on one store, and keeps what their steps did."""

    def __init__(self, app: App) -> None:
        self._engine = app.engine
        self.done: dict[str, list[str]] = {}
        #: Names of orders that hang, until their worker stops.
        self.hanging: set[str] = set()

    async def rests(self, name: str, handle: Handle[Any]) -> bool:
        """Whether an order hangs or has ended."""
        return name in self.hanging or (await handle.state()).is_terminal

    def version(self, number: int) -> tuple[App, Task[Any, Any, Any]]:
        """Return an app with one version of the task."""
        app = App().attach(self._engine)

        @app.task(name="order")
        async def order(ctx: Context, name: str) -> list[str]:
            # The name says after how many steps an attempt of a version hangs.
            left = dict(zip((1, 2), map(int, name.split(".")), strict=True)).get(number, 99)

            async def step(what: str | None) -> None:
                nonlocal left
                if what is not None:
                    await ctx.step(what, self.done.setdefault(name, []).append, what)
                    left -= 1
                if left == 0:
                    self.hanging.add(name)
                    await asyncio.Event().wait()

            await step(None)
            await _CODE[number](ctx, step)
            return self.done[name]

        return app, order


async def first(_ctx: Context, step: Any) -> None:
    """The code as it was."""
    await step("charge")
    await step("pack")
    await step("mail")


async def second(ctx: Context, step: Any) -> None:
    """Adds a check before the charge, renames a step, and adds one at the end."""
    if await ctx.version("check", 2) >= 2:
        await step("check")
    await step("charge")
    await step("wrap" if await ctx.version("wrapping", 2) >= 2 else "pack")
    await step("mail")
    await step("archive")


async def third(ctx: Context, step: Any) -> None:
    """Also removes the mail, and archives before it wraps."""
    if await ctx.version("check", 2) >= 2:
        await step("check")
    await step("charge")
    wrapping = await ctx.version("wrapping", 3)
    if wrapping >= 3:
        await step("archive")
        await step("wrap")
        return
    await step("wrap" if wrapping == 2 else "pack")
    await step("mail")
    await step("archive")


_CODE = {1: first, 2: second, 3: third}


async def test_executions_live_through_three_versions(app: App) -> None:
    """They stop after any step of a version; nothing fails, no step runs twice."""
    shop = Shop(app)
    names = [f"{first}.{second}" for first in range(4) for second in range(6)]
    handles: dict[str, Handle[Any]] = {}
    for number in (1, 2, 3):
        other, order = shop.version(number)
        async with other.worker(WorkerSettings(lease_ms=LEASE_MS)) as worker:
            for name in names if number == 1 else ():
                handles[name] = await order.submit(name)

            try:
                for name, handle in handles.items():
                    await wait_for(partial(shop.rests, name, handle))
            finally:
                shop.hanging.clear()
                worker.release()
    for name, handle in handles.items():
        steps = await handle.result(timeout=5)
        assert steps == shop.done[name]
        assert len(steps) == len(set(steps))
        # What the first version had recorded decides.
        assert ("check" in steps) is (name[0] == "0")
        assert {"pack", "wrap"} & set(steps) == {"pack" if name[0] in "23" else "wrap"}


async def is_misfit(handle: Handle[Any]) -> bool:
    """Whether an execution waits for code that fits."""
    return (await handle.describe()).hold is Hold.CODE


async def test_a_mismatch_waits_for_code_that_fits_and_loses_nothing(
    app: App, working: Working
) -> None:
    """Not even the answer of a person that the code did not reach."""
    fits = False
    asked: list[str] = []

    @app.task
    async def release(ctx: Context) -> str:
        if not fits and ctx.claim.steps:
            await ctx.step("scan", asked.append, "scan")
        await ctx.step("build", asked.append, "build")
        answer: str = await ctx.wait_for("approval")
        return answer

    async with working():
        handle = await release.submit()
        await suspended(handle)
        await handle.signal("approval", "yes")

        await wait_for(partial(is_misfit, handle))
        assert "Was step 'scan' added" in await suspended(handle)
        fits = True
        await app.engine.waitpoints.resume(handle.id, identity="ops")
        assert await handle.result(timeout=5) == "yes"
        assert asked == ["build"]


@pytest.mark.parametrize("busy", ["queue", "merge"])
async def test_a_conversation_waits_for_code_that_fits(
    app: App, working: Working, busy: Literal["queue", "merge"]
) -> None:
    """What the user writes meanwhile is kept, and answered when the conversation continues."""
    fits = True
    asked: list[str] = []

    @app.conversation(busy=busy)
    async def booking(chat: Chat) -> None:
        if not fits:
            await chat.step("scan", asked.append, "scan")
        await chat.step("look", asked.append, "look")
        day = await chat.ask("Which day?")
        await chat.say(f"{day.value}.")
        await chat.say(f"And {(await chat.receive()).text}?")

    async def texts(session: str) -> list[str]:
        entries = (await app.engine.sessions.transcript(session)).entries
        return [entry.text for entry in entries if entry.direction == "out"]

    async def says(session: str, *lines: str) -> bool:
        return (await texts(session))[: len(lines)] == list(lines)

    # Nothing is kept in memory: the code runs from its journal.
    async with working(kept=0):
        session = (await booking.send("hi", user="ann")).session
        await wait_for(partial(says, session, "Which day?"))
        fits = False
        await booking.send("Monday", user="ann", wait=0)
        handle = booking.handle(f"{session}~1")
        await wait_for(partial(is_misfit, handle))
        assert "Was step 'scan' added" in (await handle.explain()).why
        for text in ("at", "noon"):
            assert (await booking.send(text, user="ann", wait=1)).state == "suspended"
        assert (await app.engine.sessions.get(session)).buffered == 2
        fits = True
        await app.engine.waitpoints.resume(handle.id, identity="ops")
        rest = "And at\nnoon?" if busy == "merge" else "And at?"
        await wait_for(partial(says, session, "Which day?", "Monday.", rest))
        assert asked[:1] == ["look"]
        assert "scan" not in asked


async def test_a_thread_meets_a_new_step_before_recorded_ones(app: App, working: Working) -> None:
    """Also after a wait: the new step does not run."""
    fits = True
    ran: list[str] = []

    @app.task
    def work(ctx: SyncContext) -> list[str]:
        ctx.sleep(0)
        if not fits:
            ctx.step("new", ran.append, "new")
        ctx.step("b", ran.append, "b")
        ctx.wait_for("go")
        return ran

    async with working():
        handle = await work.submit()
        await suspended(handle)
        fits = False
        await handle.signal("go")
        await wait_for(partial(is_misfit, handle))
        assert ran == ["b"]
        fits = True
        await app.engine.waitpoints.resume(handle.id)
        assert await handle.result(timeout=5) == ["b"]


async def test_other_threads_of_a_task_have_no_order(app: App, working: Working) -> None:
    """A new step of one thread may come before a recorded one of another."""

    @app.task(retries=at_once(2))
    def work(ctx: SyncContext) -> list[int]:
        with ThreadPoolExecutor(1) as pool:
            if ctx.attempt:
                pool.submit(lambda: ctx.step("late", int)).result()
            pool.submit(lambda: ctx.step("early", int)).result()
        if not ctx.attempt:
            raise KeyError
        return [ctx.step("own", int)]

    async with working():
        assert await (await work.submit()).result(timeout=5) == [0]


async def test_threads_have_versions_too(app: App, working: Working) -> None:
    """Asked twice, the answer is the same."""

    @app.task
    def work(ctx: SyncContext) -> list[int]:
        ctx.step("a", int)
        return [ctx.version("x", 3), ctx.version("x", 3)]

    async with working():
        handle = await work.submit()
        assert await handle.result(timeout=5) == [3, 3]
        steps = await app.engine.steps(handle.id)
    assert [(step.name, step.result) for step in steps] == [("a", b"0"), ("version:x", b"3")]


async def test_a_version_is_not_asked_for_among_parallel_steps(app: App, working: Working) -> None:
    """There, recorded steps of other branches would look like those of old code."""

    async def branch(ctx: Context) -> int:
        return await ctx.version("x", 2)

    @app.task(retries=3)
    async def work(ctx: Context) -> None:
        await ctx.gather(branch(ctx), ctx.step("a", int))

    async with working():
        with pytest.raises(ExecutionFailed, match="outside parallel steps"):
            await (await work.submit()).result(timeout=5)
