"""Graphs of tasks, run by a worker on the real clock."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import App, Context, Join, SyncClient, SyncContext
from holdfast.engine import Engine
from holdfast.errors import (
    ExecutionFailed,
    GraphFailed,
    GraphFinished,
    InvalidInput,
    ResultNotReady,
    TaskError,
)
from holdfast.model.graphs import GraphView
from holdfast.testing.polling import wait_for
from tests.integration.worker.conftest import Working, at_once

ALSO_OVER_HTTP = True


@pytest.fixture
def tasks(app: App) -> Any:
    """A few tasks."""

    class Tasks:
        @app.task
        async def inc(n: int, by: int = 1) -> int:  # noqa: N805
            return n + by

        @app.task
        def total(ns: list[int], extra: int = 0) -> int:  # noqa: N805
            return sum(ns) + extra

        @app.task
        async def boom(n: int = 0) -> int:  # noqa: N805
            raise ValueError(f"boom {n}")

        @app.task
        async def report(problem: dict[str, Any]) -> str:  # noqa: N805
            return f"{problem['state']}: {problem['error']['message']}"

        @app.task
        async def blob(size: int) -> bytes:  # noqa: N805
            return b"\xff" * size

        @app.task
        async def length(data: bytes, note: str = "") -> int:  # noqa: N805
            return len(data) + len(note)

        @app.task
        async def forever(ctx: Context) -> int:  # noqa: N805
            await asyncio.Event().wait()
            return 0

    return Tasks


async def test_results_are_passed_on_by_name(app: App, working: Working, tasks: Any) -> None:
    """A node as an argument makes the edge and the mapping, a list of them a list."""
    async with working():
        async with app.graph() as g:
            a = g.add(tasks.inc, 1)
            b = g.add(tasks.inc, a, by=10)
            c = g.add(tasks.total, [a, b], extra=100)
            g.add(tasks.inc, n=c, by=b)
        assert await g.result(timeout=8) == {"inc-3": 126}
        assert [await node.result() for node in (a, b, c)] == [2, 12, 114]
        assert (a.id, await g.state()) == (f"{g.id}~inc", "completed")


async def test_map_and_reduce(app: App, working: Working, tasks: Any) -> None:
    """Also over more than fits into one call."""
    async with working(slots=50):
        async with app.graph() as g:
            parts = g.map(tasks.inc, range(250), by=2)
            g.reduce(tasks.total, parts, extra=1)
        assert await g.result(timeout=20) == {"total": sum(range(250)) + 501}


async def test_failures_are_taken_up(app: App, working: Working, tasks: Any) -> None:
    """A handler gets what went wrong; cleaning up comes in any case."""
    async with working():
        async with app.graph() as g:
            bad = g.add(tasks.boom, 7)
            g.add(tasks.report, bad.failed)
            g.add(tasks.inc, 1, after=[bad.ended], key="clean")
            g.add(tasks.inc, bad, key="never")
        assert await g.result(timeout=8) == {"report": "failed: boom 7", "clean": 2}
        states = {key: member.state for key, member in (await g.describe()).members.items()}
        assert states["never"] == "skipped"


async def test_a_graph_that_fails_says_where(app: App, working: Working, tasks: Any) -> None:
    """And can be replayed when the cause is gone."""
    broken = True

    @app.task
    async def sometimes() -> int:
        if broken:
            raise ValueError("not now")
        return 1

    async with working():
        async with app.graph() as g:
            first = g.add(sometimes)
            g.add(tasks.inc, first)
        with pytest.raises(GraphFailed) as raised:
            await g.result(timeout=8)
        assert raised.value.context["members"] == {"sometimes": "failed"}
        with pytest.raises(ExecutionFailed):
            await first.result(timeout=8)
        broken = False
        await g.replay("fixed")
        assert await g.result(timeout=8) == {"inc": 2}


async def test_the_first_of_several(app: App, working: Working, tasks: Any) -> None:
    """The loser is stopped; a list holds the results that are there."""
    async with working():
        async with app.graph() as g:
            slow = g.add(tasks.forever)
            fast = g.add(tasks.inc, 1)
            g.add(tasks.total, [slow, fast], join=Join.any(losers="cancel"))
        assert await g.result(timeout=8) == {"total": 2}
        assert await slow.handle.state() == "cancelled"


async def test_bytes_and_large_results(app: App, working: Working, tasks: Any) -> None:
    """By reference, whatever their size."""
    async with working():
        async with app.graph() as g:
            blobs = g.map(tasks.blob, [0, 10, 300_000])
            for number, blob in enumerate(blobs):
                g.add(tasks.length, blob, note="", key=f"length{number}")
        assert await g.result(timeout=8) == {"length0": 0, "length1": 10, "length2": 300_000}


async def test_more_is_added_while_it_runs(app: App, working: Working, tasks: Any) -> None:
    """Until it has ended."""
    async with app.graph() as g:
        a = g.add(tasks.inc, 1)
    b = g.add(tasks.inc, a)
    await g.submit()
    async with working():
        assert await g.result(timeout=8) == {"inc-2": 3}
        g.add(tasks.inc, b)
        with pytest.raises(GraphFinished):
            await g.submit()


async def test_cancel(app: App, working: Working, tasks: Any) -> None:
    """All of it, also what runs."""
    async with working() as worker:
        async with app.graph() as g:
            g.add(tasks.inc, g.add(tasks.forever))
        await wait_for(lambda: _busy(worker))
        await g.cancel("enough")
        with pytest.raises(GraphFailed) as raised:
            await g.result(timeout=8)
        assert raised.value.context["state"] == "cancelled"


async def _busy(worker: Any) -> bool:
    return bool(worker._slots.busy)


async def test_nothing_is_submitted_if_the_block_raises(
    app: App, engine: Engine, tasks: Any
) -> None:
    """All or nothing begins in the code."""
    g = app.graph()
    with pytest.raises(KeyError):
        async with g:
            g.add(tasks.inc, g.nodes["nobody"])
    assert (await engine.graphs.list()).items == []
    with pytest.raises(TaskError):
        _ = g.id


async def test_a_graph_of_children_in_one_slot(app: App, working: Working, tasks: Any) -> None:
    """The parent lends its slot; a later attempt finds the same graph."""
    calls = 0

    @app.task(retries=at_once(2))
    async def parent(ctx: Context) -> int:
        nonlocal calls
        calls += 1
        async with ctx.graph() as g:
            g.reduce(tasks.total, g.map(tasks.inc, [1, 2, 3]))
        found = await g.result()
        if ctx.attempt == 0:
            raise ValueError("once more")
        return int(found["total"])

    async with working(slots=1):
        handle = await parent.submit()
        assert await handle.result(timeout=8) == 9
    assert calls == 2
    graphs = (await app.engine.graphs.list()).items
    assert [graph.id for graph in graphs] == [f"{handle.id}~0.g1"]


async def test_a_later_attempt_adds_to_its_graph_once(
    app: App, working: Working, tasks: Any
) -> None:
    """What an earlier attempt has added is there, also when the graph has ended."""

    @app.task(retries=at_once(3))
    async def parent(ctx: Context) -> int:
        async with ctx.graph() as g:
            a = g.add(tasks.inc, 1)
        b = g.add(tasks.inc, a)
        await g.submit()
        if ctx.attempt == 0:
            raise ValueError("before its end")
        found = await g.result()
        if ctx.attempt == 1:
            raise ValueError("after its end")
        return int(found[b.key])

    async with working(slots=1):
        handle = await parent.submit()
        assert await handle.result(timeout=8) == 3
    (graph,) = (await app.engine.graphs.list()).items
    assert (graph.version, graph.size) == (2, 2)


async def test_a_later_attempt_asks_once_what_earlier_ones_have_added(
    app: App, working: Working, tasks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is as large as the graph."""
    graphs, asked = app.engine.graphs, 0
    describe = graphs.describe

    async def counted(graph_id: str) -> GraphView:
        nonlocal asked
        asked += 1
        return await describe(graph_id)

    @app.task(retries=at_once(2))
    async def parent(ctx: Context) -> int:
        async with ctx.graph() as g:
            node = g.add(tasks.inc, 1)
        for _ in range(5):
            node = g.add(tasks.inc, node)
            await g.submit()
        if ctx.attempt == 0:
            monkeypatch.setattr(graphs, "describe", counted)
            raise ValueError("once more")
        return asked

    async with working(slots=1):
        assert await (await parent.submit()).result(timeout=8) == 1


async def test_a_graph_in_a_plain_task(app: App, working: Working, tasks: Any) -> None:
    """It blocks a thread, not a slot."""

    @app.task
    def parent(ctx: SyncContext) -> int:
        with ctx.graph(deadline=60) as g:
            g.reduce(tasks.total, g.map(tasks.inc, [1, 2]))
        return int(g.result()["total"])

    async with working(slots=1, threads=1):
        assert await (await parent.submit()).result(timeout=8) == 5


def test_a_graph_without_an_event_loop(real_url: str) -> None:
    """SyncClient has it, too."""
    app = App(real_url)

    @app.task
    async def inc(n: int) -> int:
        return n + 1

    with SyncClient(app) as client:
        with client.graph(idempotency_key="k") as g:
            g.add(inc, g.add(inc, 1))
        with pytest.raises(ResultNotReady):
            g.result(timeout=0.05)
        assert [member.state for member in g.describe().members.values()] == [
            "waiting", "waiting_children",
        ]  # fmt: skip
        g.cancel("no worker")
        with pytest.raises(GraphFailed):
            g.result(timeout=5)
        g.replay()
        assert g.describe().graph.state == "running"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda g, t: g.add(t.inc, "one"),
        lambda g, t: g.add(t.inc),
        lambda g, t: g.add(t.inc, g.add(t.inc, 1), 2, 3),
        lambda g, t: g.add(t.total, [1, g.add(t.inc, 1)]),
        lambda g, t: (g.add(t.inc, 1, key="k"), g.add(t.inc, 1, key="k")),
        lambda g, t: g.add(t.inc, 1, after=["inc"]),
        lambda g, t: g.add(t.inc, 1, key="a~b") and None,
        lambda g, t: g.add(t.inc, g.add(t.inc, 1), by=g.nodes["inc"]),
        lambda g, t: g.add(t.inc, g.add(t.inc, 1), after=[g.nodes["inc"].failed]),
        lambda g, t: g.add(t.inc, 1, join="any"),
    ],
)
async def test_mistakes_are_found_before_anything_is_sent(app: App, tasks: Any, wrong: Any) -> None:
    """By the hints of the task and the rules of graphs."""
    with pytest.raises(InvalidInput):
        async with app.graph() as g:
            wrong(g, tasks)
    assert (await app.engine.graphs.list()).items == []


async def test_nodes_belong_to_their_graph(app: App, tasks: Any) -> None:
    """A member cannot wait for one of another graph."""
    other = app.graph().add(tasks.inc, 1)
    with pytest.raises(InvalidInput, match="another graph"):
        app.graph().add(tasks.inc, other)


async def test_a_task_that_takes_bytes_gets_no_results(app: App) -> None:
    """There are no names in its input."""

    @app.task
    async def raw(data: bytes) -> int:
        return len(data)

    g = app.graph()
    with pytest.raises(InvalidInput, match="bytes"):
        g.add(raw, g.add(raw, b"x"))
