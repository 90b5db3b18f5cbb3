"""Worker processes that a test starts, signals and never leaves behind."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.acceptance.processes import ROOT, environment

START_TIMEOUT_S = 20


class Crew:
    """The workers of a test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[asyncio.subprocess.Process] = []

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

    async def start(self, *, lease_ms: int = 1_000) -> asyncio.subprocess.Process:
        """Start a worker and wait until it listens for work."""
        with (self._folder / "worker.log").open("a") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.acceptance.apps.runner"),
                *(str(self._folder), str(lease_ms)),
                cwd=ROOT,
                env=environment(self._folder),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        self._processes.append(process)
        assert process.stdout is not None
        async with asyncio.timeout(START_TIMEOUT_S):
            line = await process.stdout.readline()
        assert line == b"ready\n", self.log()
        return process

    async def kill(self, process: asyncio.subprocess.Process) -> None:
        """Kill a worker without warning."""
        process.send_signal(signal.SIGKILL)
        await process.wait()

    def log(self) -> str:
        """Return what the workers logged."""
        return (self._folder / "worker.log").read_text()
