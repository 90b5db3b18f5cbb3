"""Signals to running tasks and the views that they set, near the store and far from it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import App, Context, Handle, SyncContext
from holdfast.engine import Engine
from holdfast.errors import AlreadyTerminal, InvalidInput, TooLarge
from holdfast.model.states import Hold, State
from holdfast.model.waitpoints import Effect, Source
from holdfast.testing.polling import wait_for
from tests.integration.worker.conftest import Working, at_once

ALSO_OVER_HTTP = True


async def until_it_waits(handle: Handle[Any]) -> None:
    """Wait until an execution has returned its lease to wait for a signal."""

    async def is_waiting() -> bool:
        found = await handle.describe()
        return found.state is State.DELAYED and found.hold is Hold.SIGNAL

    await wait_for(is_waiting)


async def test_a_task_receives_signals_in_their_order(app: App, working: Working) -> None:
    """Those that came before it ran, and those for which it waits without a lease."""

    @app.task
    async def listen(ctx: Context) -> list[Any]:
        got = []
        async for signal in ctx.signals("add", "stop"):
            if signal.name == "stop":
                break
            got.append((signal.value, signal.source.identity))
        return got

    handle = await listen.submit()
    await handle.send("add", 1, source=Source(type="user", identity="ann"))
    await handle.send("other", "nobody asks for it")
    async with working():
        await until_it_waits(handle)
        assert "waits for a signal named add or stop" in (await handle.explain()).why
        await handle.send("add", {"n": 2}, idempotency_key="k")
        assert await handle.send("add", {"n": 2}, idempotency_key="k") is Effect.DUPLICATE
        await handle.send("stop")
        assert await handle.result(timeout=10) == [[1, "ann"], [{"n": 2}, ""]]
    found = await handle.describe()
    assert (found.attempts, found.unread) == (1, 1)
    steps = [step.name for step in await app.engine.steps(handle.id)]
    label = "signal:add,stop"
    assert steps == [f"{label}:1", f"{label}:2", f"{label}:3"]
    with pytest.raises(AlreadyTerminal):
        await handle.send("add", 3)


@pytest.mark.parametrize("length", [80, 128])
async def test_names_may_be_long(app: App, working: Working, length: int) -> None:
    """Together longer than the name of a step, with and without the end of a wait."""
    names = tuple(f"{n}".ljust(length, "x") for n in range(3 if length < 100 else 2))

    @app.task(retries=at_once(2))
    async def listen(ctx: Context) -> list[Any]:
        signals = ctx.signals(*names)
        got = [await signals.get(timeout=60), await signals.get()]
        others = ctx.signals(*names[::-1])
        got.append(await others.get(timeout=0))
        if ctx.attempt == 0:
            raise ValueError("once more")
        return [signal and signal.name for signal in got]

    handle = await listen.submit()
    async with working():
        await until_it_waits(handle)
        for name in names[:2]:
            await handle.send(name)
        assert await handle.result(timeout=10) == [*names[:2], None]


async def test_a_later_attempt_sees_the_same_signals(app: App, working: Working) -> None:
    """Whatever came in the meantime: those that were received come first, from the journal."""
    seen: list[list[Any]] = []

    @app.task(retries=at_once(3))
    async def listen(ctx: Context) -> list[Any]:
        signals = ctx.signals("n")
        got = [await signals.get(timeout=0), await signals.get(timeout=0)]
        seen.append([signal and signal.value for signal in got])
        if ctx.attempt == 0:
            await handle.send("n", "later")
            raise ValueError("once more")
        rest = await signals.get()
        return [*seen[-1], rest and rest.value]

    handle = await listen.submit()
    await handle.send("n", "first")
    async with working():
        assert await handle.result(timeout=10) == ["first", None, "later"]
    assert seen == [["first", None], ["first", None]]


async def test_a_task_listens_beside_its_work(app: App, working: Working) -> None:
    """A wait beside other tasks keeps the attempt and lends its slot."""

    @app.task
    async def leaf(n: int) -> int:
        return n

    @app.task
    async def work(ctx: Context) -> tuple[int, Any]:
        async def stop() -> Any:
            async for signal in ctx.signals("stop"):
                return signal.value
            return None

        stopping = asyncio.create_task(stop())
        done = await ctx.result(await ctx.submit(leaf, 7))
        await ctx.set_view({"done": done})
        return done, await stopping

    async with working(slots=1) as worker:
        handle = await work.submit()

        async def is_shown() -> bool:
            return bool(await handle.view())

        await wait_for(is_shown)
        assert await handle.state() is State.ACTIVE
        assert worker._slots.free == 1
        await handle.send("stop", "now")
        assert await handle.result(timeout=10) == (7, "now")
        assert (await handle.describe()).attempts == 1


async def test_a_plain_task_receives_signals(app: App, working: Working) -> None:
    """It blocks where others await, and returns its thread while it waits."""

    @app.task
    def listen(ctx: SyncContext) -> list[Any]:
        ctx.set_view(["begun"])
        got = [signal.value for signal in ctx.signals("n", timeout=0.2)]
        one = ctx.signals("m").get()
        return [*got, one and one.value]

    handle = await listen.submit()
    for n in range(3):
        await handle.send("n", n)
    async with working():
        await until_it_waits(handle)
        assert await handle.view() == ["begun"]
        await handle.send("m", "last")
        assert await handle.result(timeout=10) == [0, 1, 2, "last"]


async def test_a_timeout_survives_attempts(app: App, working: Working, engine: Engine) -> None:
    """It is counted from the first time that the task waited."""

    @app.task
    async def listen(ctx: Context) -> str:
        signal = await ctx.signals("n").get(timeout=1.5)
        return "nothing" if signal is None else "something"

    async with working():
        handle = await listen.submit()
        await until_it_waits(handle)
        assert await handle.result(timeout=10) == "nothing"
    (until, none) = await app.engine.steps(handle.id)
    assert (until.name, none.name, none.result) == ("signal:n:1:until", "signal:n:1", b"null")


async def test_a_view_is_followed(app: App, working: Working) -> None:
    """A reader waits for the next version, and for the end."""

    @app.task
    async def show(ctx: Context) -> None:
        for n in range(3):
            await ctx.set_view({"n": n})
            await ctx.signals("next").get()

    engine = app.engine
    async with working():
        handle = await show.submit()
        version, seen = 0, []
        while True:
            found = await engine.view(handle.id, after=version, timeout_s=10)
            if found.data is None:
                break
            version = found.version
            seen.append(found.value)
            await handle.send("next")
        assert seen == [{"n": 0}, {"n": 1}, {"n": 2}]
        assert found.state is State.COMPLETED
    last = await engine.executions.view(handle.id)
    assert (last.version, last.value) == (3, {"n": 2})


async def test_views_are_bounded(app: App, working: Working) -> None:
    """Also names and payloads of signals; nothing is sent then."""

    @app.task
    async def show(ctx: Context) -> str:
        with pytest.raises(TooLarge):
            await ctx.set_view("x" * (64 << 10))
        with pytest.raises(InvalidInput, match="names"):
            ctx.signals("not a name")
        return "refused"

    async with working():
        handle = await show.submit()
        assert await handle.result(timeout=10) == "refused"
    with pytest.raises(TooLarge):
        await handle.send("s", "x" * (64 << 10))
    with pytest.raises(InvalidInput):
        await handle.send("not a name")
    assert await handle.view() is None
