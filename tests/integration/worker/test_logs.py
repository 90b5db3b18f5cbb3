"""Lines of ctx.logger that are kept with the execution."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import App, Context, SyncContext
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed, InvalidInput
from holdfast.worker.logs import MOST_LINES
from holdfast.worker.worker import WorkerSettings
from tests.integration.worker.conftest import Working

ALSO_OVER_HTTP = True


async def kept(engine: Engine, execution_id: str) -> list[dict[str, Any]]:
    """Return the lines that were kept, in order."""
    page = await engine.streams.read(execution_id, limit=1_000)
    return [frame.json() for frame in page.frames if frame.type == "log"]


async def test_lines_are_kept_from_a_level_on(app: App, engine: Engine, working: Working) -> None:
    """Of async tasks, of threads, and of those that fail, with the traceback of their author."""

    @app.task
    async def work(ctx: Context) -> None:
        ctx.logger.debug("not this")
        ctx.logger.info("packing %d boxes", 3)

    @app.task
    def thread(ctx: SyncContext) -> None:
        ctx.logger.warning("in a thread")

    @app.task
    async def fails(ctx: Context) -> None:
        try:
            raise ValueError("no stock")  # noqa: TRY301
        except ValueError:
            ctx.logger.exception("giving up")
            raise

    async with working(keep_logs="info"):
        handles = [await work.submit(), await thread.submit(), await fails.submit()]
        for handle in handles[:2]:
            await handle.result(timeout=5)
        with pytest.raises(ExecutionFailed):
            await handles[2].result(timeout=5)
    first, second, third = [await kept(engine, handle.id) for handle in handles]
    assert first == [{"level": "info", "message": "packing 3 boxes"}]
    assert second == [{"level": "warning", "message": "in a thread"}]
    assert third[0]["message"] == "giving up"
    assert third[0]["traceback"].endswith("ValueError: no stock\n")


async def test_a_worker_keeps_nothing_unless_asked(
    app: App, engine: Engine, working: Working
) -> None:
    """And a task that logs nothing has no stream, whatever its worker does."""

    @app.task
    async def work(ctx: Context) -> None:
        ctx.logger.error("only in the log of the worker")

    @app.task
    async def silent() -> None: ...

    async with working():
        handle = await work.submit()
        await handle.result(timeout=5)
        assert await kept(engine, handle.id) == []
    async with working(keep_logs="debug"):
        handle = await silent.submit()
        await handle.result(timeout=5)
        assert (await engine.streams.read(handle.id)).frames == ()


async def test_lines_are_there_while_the_task_runs(
    app: App, engine: Engine, working: Working
) -> None:
    """Soon, without a step or the end."""
    gate = asyncio.Event()

    @app.task
    async def work(ctx: Context) -> None:
        ctx.logger.info("half way")
        await gate.wait()

    async with working(keep_logs="info"):
        handle = await work.submit()
        async with asyncio.timeout(5):
            async for frame in engine.streams.follow(handle.id):
                if frame.type == "log":
                    break
        gate.set()
        await handle.result(timeout=5)


async def test_the_lines_of_an_attempt_are_bounded(
    app: App, engine: Engine, working: Working
) -> None:
    """The last one says so; a burst that leaves the loop no time is kept, too."""

    @app.task
    async def chatty(ctx: Context) -> None:
        for number in range(MOST_LINES + 50):
            ctx.logger.info("line %d %s", number, "x" * 5_000)

    async with working(keep_logs="info"):
        handle = await chatty.submit()
        await handle.result(timeout=10)
    frames: list[Any] = []
    more = True
    while more:
        after = frames[-1].id if frames else 0
        page = await engine.streams.read(handle.id, after=after, limit=100)
        frames += page.frames
        more = page.more
    lines = [frame.json()["message"] for frame in frames]
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "the log of this attempt is full: lines after the first 1000 are dropped"
    assert len(lines[0]) == 4_000


async def test_the_place_of_a_line_is_that_of_the_task(
    app: App, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """Not that of the logger."""

    @app.task
    async def work(ctx: Context) -> None:
        ctx.logger.warning("here")

    async with working(keep_logs="info"):
        await (await work.submit()).result(timeout=5)
    (record,) = [one for one in caplog.records if one.getMessage() == "here"]
    assert (record.filename, record.funcName) == ("test_logs.py", "work")


def test_a_level_must_be_one() -> None:
    """Before anything starts."""
    with pytest.raises(InvalidInput, match="keep_logs"):
        WorkerSettings(keep_logs="loud")
