"""`holdfast logs`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import archived
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.failures import one_line, printable
from holdfast.cli.terminal.options import ExecutionId, JsonOption, StoreOption
from holdfast.errors import ExecutionNotFound
from holdfast.model import bounds
from holdfast.model.log_lines import LEVELS, LogLine, check_level, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.api import Engine


def logs(
    execution_id: ExecutionId,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue until the execution ends.")
    ] = False,
    level: Annotated[
        str,
        typer.Option("--level", metavar="LEVEL", help=f"The lowest level: {', '.join(LEVELS)}."),
    ] = "debug",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the log lines of an execution, oldest first; with --json, one object per line."""
    check_level(level)

    async def work(engine: Engine) -> None:
        read = _follow if follow else _read
        try:
            async for line in read(engine, execution_id, level):
                _show(line, as_json=as_json)
        except ExecutionNotFound as error:
            row = await archived.get(engine, execution_id, error)
            for line in lines_of(row.frames(), level):
                _show(line, as_json=as_json)

    opening.ask(store, work, maintenance=follow)


async def _read(engine: Engine, execution_id: str, level: str) -> AsyncIterator[LogLine]:
    cursor = None
    while True:
        page = await engine.streams.logs(
            execution_id, level=level, limit=bounds.PAGE_ITEMS, cursor=cursor
        )
        for line in page.lines:
            yield line
        cursor = page.next_cursor
        if cursor is None:
            return


async def _follow(engine: Engine, execution_id: str, level: str) -> AsyncIterator[LogLine]:
    async with contextlib.aclosing(engine.streams.follow(execution_id)) as frames:
        async for frame in frames:
            for line in lines_of([frame], level):
                yield line


def _show(line: LogLine, *, as_json: bool) -> None:
    if as_json:
        output.emit(line)
        return
    for text in _text(line):
        output.say(text)


def _text(line: LogLine) -> Iterator[str]:
    """Yield a line for people, then its traceback. People count attempts from 1: `#1`, `#2`."""
    logger = f"{line.logger}: " if line.logger else ""
    facts = "".join(f" {name}={value}" for name, value in line.fields.items())
    message = one_line(f"{logger}{line.message}{facts}")
    yield f"{times.stamp(line.at)}  {line.level:<9}#{line.attempt + 1}  {message}"
    for text in (line.traceback or "").splitlines():
        yield f"    {printable(text)}"
