"""The testing kit and graphs."""

from __future__ import annotations

from holdfast import App, Context
from holdfast.testing import TestApp, crash_everywhere
from holdfast.testing.plugin import Attach

app = App("embedded://never-opened")
calls: list[str] = []


@app.task
async def part(n: int) -> int:
    calls.append(f"part {n}")
    return n * n


@app.task
async def total(ns: list[int]) -> int:
    return sum(ns)


@app.task
async def nap(ctx: Context, n: int) -> int:
    await ctx.sleep(3600)
    return n


@app.task
async def parent(ctx: Context, count: int) -> int:
    async with ctx.graph() as g:
        g.reduce(total, g.map(part, range(count)))
    return int((await g.result())["total"])


@app.task
async def late_parent(ctx: Context) -> int:
    child = await ctx.submit(part, 2)
    found = await ctx.result(child)
    async with ctx.graph() as g:
        g.add(part, 3)
    found += int((await g.result())["part"])
    await ctx.sleep(3 * 86_400)
    return found


async def test_a_parent_finds_its_children_after_their_retention(holdfast_app: Attach) -> None:
    """They are kept until it has ended: otherwise it would submit them again."""
    tested: TestApp = await holdfast_app(app)
    calls.clear()
    assert await tested.run(late_parent) == 13
    assert calls == ["part 2", "part 3"]


async def test_a_graph_runs_to_idle(holdfast_app: Attach) -> None:
    """Members that sleep included: the clock is moved for them."""
    tested: TestApp = await holdfast_app(app)
    async with app.graph() as g:
        g.add(part, g.add(nap, 3))
    await tested.run_until_idle()
    assert await g.result(timeout=1) == {"part": 9}


async def test_a_parent_waits_for_its_graph(holdfast_app: Attach) -> None:
    """As for a child."""
    tested: TestApp = await holdfast_app(app)
    assert await tested.run(parent, 3) == 5


async def test_a_crash_anywhere_changes_nothing(holdfast_app: Attach) -> None:
    """The graph is there once, whenever the parent dies."""
    tested: TestApp = await holdfast_app(app)
    calls.clear()
    report = await crash_everywhere(tested, parent, 3)
    kinds = [str(run.killed_after).split(" ", 1)[0] for run in report.runs[1:]]
    assert (report.result, kinds) == (5, ["child", "its"])
    assert sorted(calls) == sorted([f"part {n}" for n in range(3)] * 3)
