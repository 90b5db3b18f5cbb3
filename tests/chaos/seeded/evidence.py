"""What a failing seed leaves behind: enough to explain it without another run."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import Any

from tests.chaos.seeded.history import Call, Note
from tests.chaos.seeded.topology import Server

_FORMAT = "%(asctime)s.%(msecs)03d %(levelname)s %(threadName)s %(name)s: %(message)s"


#: The log of the seed under way; threads without one may belong to any.
_log: ContextVar[_Lines | None] = ContextVar("_log", default=None)


class _Lines(logging.Handler):
    """A log in memory, of one seed of those that run at once."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter(_FORMAT, "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        if _log.get() in (self, None):
            self.lines.append(self.format(record))


class Evidence:
    """Files by name. Open it for as long as the seed runs."""

    def __init__(self, servers: list[Server]) -> None:
        self.files: dict[str, str] = {}
        self._servers = servers
        self._lines = _Lines()
        self._sizes = {server.name: len(_read(server.log)) for server in servers}

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Keep what processes within this one log."""
        logger = logging.getLogger("holdfast")
        logger.addHandler(self._lines)
        before = _log.set(self._lines)
        try:
            yield
        finally:
            _log.reset(before)
            logger.removeHandler(self._lines)

    def gather(self, processes: Path, dump: Mapping[str, Any]) -> None:
        """Take all logs and keys, of processes that log to a folder."""
        self.files["processes.log"] = _text(self._lines.lines)
        for path in processes.glob("*.log"):
            self.files[path.name] = path.read_text(errors="replace")
        for server in self._servers:
            # Servers outlive seeds, so that a log begins with seeds before.
            own = _read(server.log)[self._sizes[server.name] :]
            self.files[f"{server.name}.log"] = own.decode(errors="replace")
        self.files["keys.txt"] = _text(f"{key} {dump[key]!r}" for key in sorted(dump))
        clocks = f"monotonic {time.monotonic():.3f} is {time.strftime('%H:%M:%S')}"
        self.files["clocks.txt"] = _text([clocks])

    def add_lines(self, name: str, lines: list[Call] | list[Note]) -> None:
        """Add a history."""
        texts = (json.dumps(_fields(line), default=repr) for line in lines)
        self.files[f"{name}.jsonl"] = _text(texts)

    def write(self, folder: Path) -> None:
        """Write all files."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text)


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _text(lines: Any) -> str:
    return "".join(f"{line}\n" for line in lines)


def _fields(line: Call | Note) -> dict[str, Any]:
    """Return what a line has, without copies: an answer may be anything."""
    return {field.name: getattr(line, field.name) for field in fields(line)}
