"""Worker processes that a test starts, signals and never leaves behind."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.acceptance.processes import ROOT, environment
from tests.support import commands
from tests.support.commands import Talking

START_TIMEOUT_S = 20


class Crew:
    """The workers of a test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[Talking] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        for process in self._processes:
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def start(self, *, lease_ms: int = 1_000) -> Talking:
        """Start a worker and wait until it listens for work."""
        with (self._folder / "worker.log").open("a") as log:
            process = await commands.talk(
                (str(self._folder), str(lease_ms)),
                module="tests.acceptance.apps.runner",
                folder=ROOT,
                environment=environment(self._folder),
                stderr=log,
            )
        self._processes.append(process)
        async with asyncio.timeout(START_TIMEOUT_S):
            line = await process.stdout.readline()
        assert line == b"ready\n", self.log()
        return process

    async def kill(self, process: Talking) -> None:
        """Kill a worker without warning."""
        process.send_signal(signal.SIGKILL)
        await process.wait()

    def log(self) -> str:
        """Return what the workers logged."""
        return (self._folder / "worker.log").read_text()
