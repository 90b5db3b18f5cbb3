"""`holdfast stream`."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import archived
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.failures import one_line
from holdfast.cli.terminal.options import ExecutionId, JsonOption, StoreOption
from holdfast.errors import ExecutionNotFound
from holdfast.model.frames import ATTEMPT, END, Frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.api import Engine

_PAGE = 500


def stream(
    execution_id: ExecutionId,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue until the execution ends.")
    ] = False,
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="FRAME", help="Start after this frame.")
    ] = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the frames that an execution streams: text as it is, other frames as lines.

    Notes, such as the start of another attempt, go to stderr. With --json, each frame is one
    object per line.
    """
    printer = Printer()
    show = _emit if as_json else printer.show

    async def work(engine: Engine) -> None:
        read = _follow if follow else _read
        try:
            await read(engine, execution_id, after, show)
        except ExecutionNotFound as error:
            row = await archived.get(engine, execution_id, error)
            for frame in row.frames():
                if frame.id > after:
                    show(frame)

    opening.ask(store, work, maintenance=follow)
    printer.end_line()


def _emit(frame: Frame) -> None:
    output.emit(frame.view())


async def _read(
    engine: Engine, execution_id: str, after: int, show: Callable[[Frame], None]
) -> None:
    while True:
        page = await engine.streams.read(execution_id, after=after, limit=_PAGE)
        for frame in page.frames:
            show(frame)
            after = frame.id
        if not page.more:
            return


async def _follow(
    engine: Engine, execution_id: str, after: int, show: Callable[[Frame], None]
) -> None:
    async with contextlib.aclosing(engine.streams.follow(execution_id, after=after)) as frames:
        async for frame in frames:
            show(frame)


class Printer:
    """Writes frames for people: text frames join up, other frames have a line each."""

    def __init__(self) -> None:
        self._in_line = False

    def show(self, frame: Frame) -> None:
        """Write a frame."""
        if frame.type == "text" and frame.encoding is None:
            sys.stdout.write(frame.text)
            sys.stdout.flush()
            self._in_line = not frame.text.endswith("\n") if frame.text else self._in_line
            return
        self.end_line()
        if frame.type == ATTEMPT:
            mark = frame.json()
            output.note(f"attempt #{mark['attempt'] + 1} ({mark['kind']})")
        elif frame.type == END:
            output.note(f"ended: {frame.state}")
        else:
            output.say(f"{times.stamp(frame.at)}  {frame.type:<8}{_content(frame)}")

    def end_line(self) -> None:
        """End the current line of text, if any."""
        if self._in_line:
            output.say("")
            self._in_line = False


def _content(frame: Frame) -> str:
    if frame.type == "bytes" or frame.encoding is not None:
        return f"{len(frame.payload)} bytes"
    if frame.type == "log":
        line = frame.json()
        if isinstance(line, dict) and "message" in line:
            return f"{line.get('level', 'info')}: {one_line(str(line['message']))}"
    return one_line(frame.payload.decode())
