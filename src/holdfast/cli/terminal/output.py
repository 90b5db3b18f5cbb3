"""Write results: JSON for programs, tables, notes and progress for people.

Results go to stdout; notes, progress and errors to stderr. Rich is loaded only when it is used.
"""

from __future__ import annotations

import base64
import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.cli.terminal import tables
from holdfast.cli.terminal.failures import one_line
from holdfast.model.executions import JSON_CONTENT_TYPE
from holdfast.model.redaction import hide_secrets

if TYPE_CHECKING:
    from rich.console import Console

#: The width of lines that are written to a pipe.
PIPE_COLUMNS = 200


def emit(value: object) -> None:
    """Write a value as JSON on stdout: on one line, or indented if stdout is a terminal."""
    text = msgspec.json.encode(value)
    if sys.stdout.isatty():
        text = msgspec.json.format(text, indent=2)
    print(text.decode(), flush=True)


def payload(data: bytes | None, content_type: str = JSON_CONTENT_TYPE) -> object:
    """Return an input or a result as a JSON value: itself, or its bytes in base64."""
    if data is None:
        return None
    if content_type == JSON_CONTENT_TYPE:
        try:
            msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        else:
            # Kept as it was written, so that numbers keep every digit.
            return msgspec.Raw(data)
    return {"base64": base64.b64encode(data).decode()}


def write_payload(data: bytes, content_type: str) -> None:
    """Write a result on stdout: text as a line, other content as raw bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    if content_type == JSON_CONTENT_TYPE or sys.stdout.isatty():
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def console(*, stderr: bool = False) -> Console:
    """Return the terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_COLUMNS
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def say(text: str) -> None:
    """Write a line for people on stdout."""
    print(hide_secrets(text), flush=True)


def answer(value: object, text: str, *, as_json: bool) -> None:
    """Report what was done: the value as JSON, or the text for people."""
    if as_json:
        emit(value)
    else:
        say(text)


def note(text: str) -> None:
    """Write a note on stderr, so that stdout holds results only."""
    print(hide_secrets(one_line(text)), file=sys.stderr, flush=True)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 execution`, `2 executions`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def nothing(_text: str) -> None:
    """Write no note: a program reads both streams."""


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, nothing: str) -> None:
    """Write a table on stdout, or `nothing` if it has no rows. In a pipe, each row is one line."""
    if not rows:
        say(nothing)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in tables.lines(columns, rows, width):
        print(line)
    sys.stdout.flush()


@contextlib.contextmanager
def progress(title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal; yield a function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        bar = bars.add_task(title, total=total)
        yield lambda done: bars.advance(bar, done)


@contextlib.contextmanager
def status(text: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with a text on a terminal; yield a function that changes the text."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.text import Text

    with console(stderr=True).status(Text(text)) as shown:
        yield lambda changed: shown.update(Text(one_line(changed)))
