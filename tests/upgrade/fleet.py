"""Processes of two versions, as a test starts and asks them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.store.valkey.ports import free_port
from tests.support import commands
from tests.upgrade.trees import ROOT, environment_of

_MODULE = "tests.upgrade.member"
#: Processes start slowly on a busy machine, and what clients owe takes calls.
_ANSWER_S = 240.0


class Member:
    """A process of one version, which answers lines with lines."""

    def __init__(self, process: Any, lines: Any, answers: Any, log: Path) -> None:
        self._process = process
        self._lines, self._answers = lines, answers
        self._log = log

    async def ask(self, *words: str) -> Any:
        """Send a line and return the answer; without words, wait for the next one."""
        if words:
            self._lines.write(f"{' '.join(words)}\n".encode())
            self._lines.flush()
        async with asyncio.timeout(_ANSWER_S):
            line = await asyncio.to_thread(self._answers.readline)
        assert line, f"{words} ended the process: {self._log.read_text()[-3000:]}"
        return json.loads(line)

    async def drain(self) -> None:
        """Let it end what it does, and end."""
        self._process.terminate()
        code = await asyncio.to_thread(self._process.wait, _ANSWER_S)
        assert code == 0, self._log.read_text()[-3000:]

    def end(self) -> None:
        """End it without warning, if it still runs."""
        self._process.kill()
        self._process.wait()
        self._lines.close()
        self._answers.close()


@dataclass
class Fleet:
    """All processes on one store."""

    store: str
    folder: Path
    #: The sources of each version; this one's are those of the tests.
    trees: dict[str, Path]
    stack: contextlib.ExitStack

    async def host(self, version: str, name: str) -> tuple[Member, str]:
        """Start a worker and a server; returns it and the URL of the server."""
        port = free_port()
        member = await self._start(version, "host", name, str(port))
        return member, f"http://127.0.0.1:{port}"

    async def clients(self, version: str, name: str) -> Member:
        """Start clients that make what all clients need, and use everything."""
        return await self._start(version, "clients", name)

    async def others(self, version: str, name: str) -> Member:
        """Start clients beside those."""
        return await self._start(version, "others", name)

    async def _start(self, version: str, kind: str, name: str, *more: str) -> Member:
        args = [kind, self.store, str(self.folder), name, *more]
        member = self.stack.enter_context(self._started(self.trees[version], args, name))
        assert await member.ask() == "ready"
        return member

    @contextlib.contextmanager
    def _started(self, tree: Path, args: list[str], name: str) -> Iterator[Member]:
        read_lines, write_lines = os.pipe()
        read_answers, write_answers = os.pipe()
        log = self.folder / f"{name}.log"
        with (
            os.fdopen(read_lines, "rb") as stdin,
            os.fdopen(write_answers, "wb") as stdout,
            log.open("wb") as stderr,
        ):
            streams: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
            process: Any
            if tree == ROOT:
                process = commands.start(
                    args, folder=ROOT, environment=os.environ, module=_MODULE, **streams
                )
            else:
                process = subprocess.Popen(
                    [sys.executable, "-m", _MODULE, *args],
                    cwd=tree,
                    env=environment_of(tree),
                    **streams,
                )
        member = Member(process, os.fdopen(write_lines, "wb"), os.fdopen(read_answers, "rb"), log)
        try:
            yield member
        finally:
            member.end()
