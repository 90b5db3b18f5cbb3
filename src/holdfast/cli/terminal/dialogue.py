"""A conversation on a terminal: lines of its transcript, buttons, and what the user types."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec

from holdfast.cli.terminal.failures import one_line, printable
from holdfast.model.sessions import Entry
from holdfast.operate.live_session import ReplyPart

YOU = "you"
_CLEAR = "\r\x1b[K"
_READ_BYTES = 65_536


def lines_of(entry: Entry, speaker: str) -> list[str]:
    """Return a line of a transcript as people read it: the text, then what comes with it."""
    value = entry.value
    lines = [printable(line) for line in entry.text.split("\n")] if entry.text else []
    files = _file_lines(value.get("files"))
    if entry.direction == "in" and not entry.text and not files:
        lines = [one_line(str(value.get("choice") or msgspec.json.encode(value).decode()))]
    first, *rest = lines or [""]
    shown = [f"{speaker}: {first}".rstrip(), *rest]
    shown += [
        f"  [{name}] {one_line(msgspec.json.encode(value[name]).decode())}"
        for name in ("card", "data")
        if entry.direction == "out" and value.get(name) is not None
    ]
    return shown + files + button_lines(entry)


def _file_lines(files: object) -> list[str]:
    """Return the files of a message, each with its id or its address."""
    shown = [one for one in (files if isinstance(files, list) else ()) if isinstance(one, dict)]
    parts = [[one.get(name) for name in ("name", "id", "url")] for one in shown]
    return [f"  [file] {one_line(' '.join(str(part) for part in one if part))}" for one in parts]


def button_lines(entry: Entry) -> list[str]:
    """Return the buttons of a reply as numbered choices."""
    return [
        f"  {number}  {one_line(str(button['label']))}"
        for number, button in enumerate(buttons_of(entry), 1)
    ]


def buttons_of(entry: Entry) -> list[dict[str, Any]]:
    """Return the buttons of a reply."""
    buttons = entry.value.get("buttons") if entry.direction == "out" else None
    return list(buttons) if isinstance(buttons, list) else []


def _printable(text: str) -> str:
    """Return a text, of one or more lines, without characters that could steer a terminal."""
    return "\n".join(map(printable, text.split("\n")))


class Screen:
    """Writes a conversation as it happens; a prompt stays below it."""

    def __init__(self, name: str, *, is_terminal: bool) -> None:
        self._name = name
        self._is_terminal = is_terminal
        self._is_prompting = False
        #: The reply that is being streamed, and how much of it is shown.
        self._number = 0
        self._shown = ""
        #: What can be chosen by its number, and the reply that offers it.
        self._offer: Entry | None = None

    def show(self, entry: Entry) -> None:
        """Write a line of the transcript."""
        if entry.direction == "out":
            self._offer = entry if buttons_of(entry) else None
        if entry.number == self._number and entry.text.startswith(self._shown):
            self._write(_printable(entry.text[len(self._shown) :]))
            lines = button_lines(entry)
        else:
            lines = lines_of(entry, self.speaker(entry))
        self._end_part()
        self._write("".join(f"{line}\n" for line in lines))

    def speaker(self, entry: Entry) -> str:
        """Return who said something."""
        if entry.direction == "in":
            return YOU
        return self._name if entry.author is None else f"{one_line(entry.author)} (a person)"

    def show_part(self, part: ReplyPart) -> None:
        """Write a part of a reply that is being streamed; one that begins again has a new line."""
        if part.number != self._number or part.start != len(self._shown):
            if part.start:
                # The rest of a reply whose start was not seen: it comes as a whole.
                return
            self._end_part()
            self._write(f"{self._name}: ")
            self._number, self._shown = part.number, ""
        self._shown += part.text
        self._write(_printable(part.text))

    def _end_part(self) -> None:
        if self._number:
            self._write("\n")
        self._number, self._shown = 0, ""

    def prompt(self) -> None:
        """Let the user type."""
        if self._is_terminal:
            self._is_prompting = False
            self._write(f"{YOU}: ")
            self._is_prompting = True

    def typed(self, line: str) -> dict[str, Any]:
        """Return the message of a line; the number of a choice presses its button."""
        self._is_prompting = False
        if not self._is_terminal:
            self._write(f"{YOU}: {printable(line)}\n")
        offer, self._offer = self._offer, None
        if offer is not None and line.strip().isdecimal():
            buttons, number = buttons_of(offer), int(line)
            if 1 <= number <= len(buttons):
                button = buttons[number - 1]
                return {
                    "text": button["label"],
                    "choice": button["value"],
                    "reply": offer.number,
                }
        return {"text": line}

    def note(self, text: str) -> None:
        """Write a remark."""
        self._end_part()
        self._write(f"({text})\n")

    def _write(self, text: str) -> None:
        if not text:
            return
        again = self._is_prompting and text.endswith("\n")
        if self._is_prompting:
            text = f"{_CLEAR}{text}"
            self._is_prompting = False
        sys.stdout.write(text)
        sys.stdout.flush()
        if again:
            self.prompt()


class Typed:
    """Lines that the user types, or that a pipe or a file holds."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._fd = sys.stdin.fileno()
        self._rest = b""
        self._is_watched = True
        try:
            asyncio.get_running_loop().add_reader(self._fd, self._read)
        except PermissionError:
            # A file is always readable, so it is read as a whole.
            self._is_watched = False
            while self._read():
                pass

    def _read(self) -> bool:
        try:
            data = os.read(self._fd, _READ_BYTES)
        except OSError:
            # The terminal has gone.
            data = b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data:
            lines += [self._rest] if self._rest else []
        for line in lines:
            self._lines.put_nowait(line.decode("utf-8", "replace").rstrip("\r"))
        if not data:
            self.close()
            self._lines.put_nowait(None)
        return bool(data)

    async def next(self) -> str | None:
        """Return the next line; None: there are no more."""
        return await self._lines.get()

    def close(self) -> None:
        """Read no more."""
        if self._is_watched:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._is_watched = False
