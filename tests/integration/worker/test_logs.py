"""Lines of ctx.logger that are kept with the execution."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from holdfast import App, Context, SyncContext
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed, InvalidInput
from holdfast.model.log_lines import LogLine
from holdfast.worker import logs
from holdfast.worker.logs import MOST_LINES
from holdfast.worker.worker import WorkerSettings
from tests.integration.worker.conftest import Working, at_once

ALSO_OVER_HTTP = True


async def kept(app: App, execution_id: str, level: str = "debug") -> list[LogLine]:
    """Return the lines that were kept, in order."""
    return list((await app.engine.streams.logs(execution_id, level=level)).lines)


async def test_lines_are_kept_from_a_level_on(app: App, working: Working) -> None:
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

    async with working():
        handles = [await work.submit(), await thread.submit(), await fails.submit()]
        for handle in handles[:2]:
            await handle.result(timeout=5)
        with pytest.raises(ExecutionFailed):
            await handles[2].result(timeout=5)
    first, second, third = [await kept(app, handle.id) for handle in handles]
    assert [(line.level, line.message) for line in first] == [("info", "packing 3 boxes")]
    assert [(line.level, line.message) for line in second] == [("warning", "in a thread")]
    assert third[0].message == "giving up"
    assert third[0].traceback is not None
    assert third[0].traceback.endswith("ValueError: no stock\n")
    assert await kept(app, handles[0].id, "warning") == []


async def test_a_worker_can_be_set_to_keep_nothing(
    app: App, engine: Engine, working: Working
) -> None:
    """And a task that logs nothing has no stream, whatever its worker does."""

    @app.task
    async def work(ctx: Context) -> None:
        ctx.logger.error("only in the log of the worker")

    @app.task
    async def silent() -> None: ...

    async with working(keep_logs=None):
        handle = await work.submit()
        await handle.result(timeout=5)
        assert await kept(app, handle.id) == []
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


async def test_the_lines_of_an_attempt_are_bounded(app: App, working: Working) -> None:
    """The last one says so; a burst that leaves the loop no time is kept, too."""

    @app.task
    async def chatty(ctx: Context) -> None:
        for number in range(MOST_LINES + 50):
            ctx.logger.info("line %d %s", number, "x" * 5_000)

    async with working(keep_logs="info"):
        handle = await chatty.submit()
        await handle.result(timeout=10)
    lines: list[str] = []
    cursor = None
    while cursor is not None or not lines:
        page = await app.engine.streams.logs(handle.id, limit=300, cursor=cursor)
        assert len(page.lines) <= 300
        lines += [line.message for line in page.lines]
        cursor = page.next_cursor
    assert len(lines) == MOST_LINES + 1
    assert [int(line.split()[1]) for line in lines[:-1]] == list(range(MOST_LINES))
    assert lines[-1] == "the log of this attempt is full: lines after the first 1000 are dropped"
    assert len(lines[0]) == 4_000


async def test_the_strangest_line_is_kept(app: App, working: Working) -> None:
    """Characters that JSON escapes, halves of characters, an error with a long message."""
    ugly = "\x01" * 5_000

    @app.task
    async def work(ctx: Context) -> None:
        ctx.logger.info("half of one: %s", "\ud800")
        try:
            raise ValueError(ugly)  # noqa: TRY301
        except ValueError:
            ctx.logger.exception(ugly)
        ctx.logger.info("%d boxes", "no")

    logging.raiseExceptions = False
    try:
        async with working():
            handle = await work.submit()
            await handle.result(timeout=5)
    finally:
        logging.raiseExceptions = True
    half, long, wrong = await kept(app, handle.id)
    assert half.message == "half of one: ?"
    assert long.message == "\x01" * 4_000
    assert wrong.message == "%d boxes"


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


async def test_records_of_every_logger_belong_to_the_execution_whose_code_runs(
    app: App, working: Working
) -> None:
    """In steps, in asyncio tasks of the code, in threads; never those of others."""
    library = logging.getLogger("some.library")
    library.setLevel("INFO")

    async def fetch(number: int) -> None:
        await asyncio.sleep(0)
        library.info("fetched %d", number)

    @app.task
    async def work(ctx: Context, number: int) -> None:
        library.info("begins")
        await ctx.step("fetch", fetch, number)
        await asyncio.gather(fetch(number + 1), asyncio.to_thread(library.warning, "slow"))

    @app.task
    def thread(number: int) -> None:
        library.error("shelf %d is empty", number)

    async with working():
        handles = [await work.submit(number) for number in (10, 20)] + [await thread.submit(3)]
        for handle in handles:
            await handle.result(timeout=5)
        library.info("outside")
    first, second, third = [await kept(app, handle.id) for handle in handles]
    for lines, number in ((first, 10), (second, 20)):
        words = sorted(line.message for line in lines)
        assert words == ["begins", f"fetched {number}", f"fetched {number + 1}", "slow"]
        assert {line.logger for line in lines} == {"some.library"}
    assert [(line.level, line.message) for line in third] == [("error", "shelf 3 is empty")]
    assert not any(isinstance(handler, logs._Capture) for handler in logging.root.handlers)


async def test_lines_have_their_own_times_and_attempts(app: App, working: Working) -> None:
    """Not the time at which they reached the store."""

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> None:
        ctx.logger.info("first")
        await asyncio.sleep(0.05)
        ctx.logger.info("second")
        if ctx.attempt == 0:
            raise ValueError("again")

    async with working():
        handle = await work.submit()
        await handle.result(timeout=5)
    lines = await kept(app, handle.id)
    assert [line.attempt for line in lines] == [0, 0, 1, 1]
    for first, second in (lines[:2], lines[2:]):
        assert second.at - first.at >= timedelta(milliseconds=45)
    rest = await app.engine.streams.logs(handle.id, cursor=lines[1].id)
    assert list(rest.lines) == lines[2:]
    for cursor in ("7", "a.b", "1.", "1.2.3"):
        with pytest.raises(InvalidInput, match="cursor"):
            await app.engine.streams.logs(handle.id, cursor=cursor)


def test_warnings_still_reach_the_terminal_of_a_process_without_logging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the handler that keeps lines is the only one."""
    monkeypatch.setattr(logging.root, "handlers", [])
    with logs.capturing():
        logging.getLogger("some.library").warning("look here")
        logging.getLogger("some.library").info("not here")
    assert capsys.readouterr().err == "look here\n"


def test_a_level_must_be_one() -> None:
    """Before anything starts."""
    with pytest.raises(InvalidInput, match="keep_logs"):
        WorkerSettings(keep_logs="loud")
