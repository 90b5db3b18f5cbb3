"""An app whose tasks leave traces and can be held at a point."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from holdfast import App, Context, SyncContext
from tests.acceptance.apps.effects import World

STEPS = ("reserve", "charge", "mail")


def make_app(folder: Path) -> App:
    """Make the app on the server that the folder names, or on an embedded store in it."""
    url = folder / "url"
    app = App(url.read_text() if url.exists() else f"embedded://{folder / 'store'}")
    world = World(folder)
    add_orders(app, world)
    add_busy_tasks(app, world)
    add_rude_tasks(app)
    add_live_tasks(app, world)
    return app


def add_orders(app: App, world: World) -> None:
    """Add tasks of several steps."""

    def act(name: str, hold: str, mark: str) -> str:
        token = world.do(name + mark)
        if name == hold:
            world.hold(name)
        return token

    async def act_async(name: str, hold: str, mark: str) -> str:
        token = world.do(name + mark)
        if name == hold:
            await world.hold_async(name)
        return token

    @app.task(name="order.async")
    async def order(ctx: Context, hold: str = "", mark: str = "") -> list[str]:
        """Take the steps; `hold` is one of them, or `between`, and `mark` tells orders apart."""
        first = await ctx.step("reserve", act_async, "reserve", hold, mark)
        if hold == "between":
            await world.hold_async(hold)
        second = await ctx.step("charge", act_async, "charge", hold, mark)
        return [first, second, await ctx.step("mail", act_async, "mail", hold, mark)]

    @app.task(name="order.plain")
    def plain_order(ctx: SyncContext, hold: str = "", mark: str = "") -> list[str]:
        """Take the steps in a thread."""
        first = ctx.step("reserve", act, "reserve", hold, mark)
        if hold == "between":
            world.hold(hold)
        second = ctx.step("charge", act, "charge", hold, mark)
        return [first, second, ctx.step("mail", act, "mail", hold, mark)]

    @app.task
    async def nap(ctx: Context, seconds: float) -> list[str]:
        """Sleep between two steps."""
        before = await ctx.step("before", world.do, "before")
        await ctx.sleep(seconds)
        return [before, await ctx.step("after", world.do, "after")]


def add_busy_tasks(app: App, world: World) -> None:
    """Add tasks without steps."""

    @app.task
    async def quick(n: int) -> int:
        """Do something short, once."""
        world.do(f"quick-{n}")
        await asyncio.sleep(0.01)
        return n

    @app.task(name="busy.async")
    async def busy() -> None:
        """Run until told to stop."""
        world.do("busy")
        await world.hold_async("busy")

    @app.task(name="busy.plain")
    def plain_busy(ctx: SyncContext) -> None:
        """Run in a thread until told to stop."""
        world.do("busy")
        while world.must_hold("busy"):
            ctx.check()
            time.sleep(0.005)

    app.task(name="busy.process", pool="process")(process_busy)

    @app.task
    def where() -> int:
        """Return the process."""
        return os.getpid()


def process_busy(folder: str) -> None:
    """Run in a process of its own until told to stop."""
    world = World(Path(folder))
    world.do("busy")
    world.hold("busy")


def add_rude_tasks(app: App) -> None:
    """Add tasks that try to end the process."""

    @app.task(name="leave.async")
    async def leave() -> None:
        """Leave from the event loop."""
        sys.exit(3)

    @app.task(name="leave.plain")
    def plain_leave() -> None:
        """Leave from a thread."""
        sys.exit(3)

    @app.task(name="interrupt.async")
    async def interrupt() -> None:
        """Behave like Ctrl-C."""
        raise KeyboardInterrupt


def add_live_tasks(app: App, world: World) -> None:
    """Add tasks that receive signals, and that have bound children."""

    @app.task
    async def listen(ctx: Context) -> list[object]:
        """Receive signals until `stop`; held between the receipt of `hold` and the next step."""
        got: list[object] = []
        async for signal in ctx.signals():
            if signal.name == "stop":
                break
            got.append(signal.value)
            if signal.name == "hold":
                await world.hold_async("received")
            await ctx.step(f"use-{len(got)}", world.do, f"use-{signal.value}")
        return got

    @app.task(on_parent_end="cancel")
    async def child(ctx: Context) -> None:
        """Wait for a signal that does not come."""
        await ctx.signals("never").get()

    @app.task
    async def parent(ctx: Context) -> None:
        """Have a child and be held."""
        await ctx.submit(child)
        async with ctx.graph(on_parent_end="cancel") as graph:
            graph.add(child)
        await world.hold_async("parent")
