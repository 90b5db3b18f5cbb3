"""Processes of a measurement, and the processor time that they take."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.engine import Engine


@contextlib.asynccontextmanager
async def started(command: str, *options: str) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Run a command until the block ends; yield its process id and what it says first."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.cli", command, *options),
        *("--json", "--log-level", "error"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        yield process.pid, json.loads(await process.stdout.readline())
    finally:
        process.terminate()
        await process.wait()


class Processor:
    """Counts the processor time of processes, of the store, and of this one."""

    def __init__(self, engine: Engine, processes: Mapping[str, int]) -> None:
        self._engine = engine
        self._processes = processes
        self._before: dict[str, float] = {}

    @classmethod
    async def start(cls, engine: Engine, processes: Mapping[str, int]) -> Processor:
        """Begin to count."""
        made = cls(engine, processes)
        made._before = await made._seconds()
        return made

    async def stop(self, count: int) -> dict[str, float]:
        """Return the microseconds that each took for one of a number of things."""
        now = await self._seconds()
        return {name: (now[name] - before) / count * 1e6 for name, before in self._before.items()}

    async def _seconds(self) -> dict[str, float]:
        text = (await self._engine.store.client.call(["INFO", "cpu"])).decode()
        valkey = sum(float(s) for s in re.findall(r"used_cpu_(?:user|sys):([\d.]+)", text))
        return {
            **{name: processor_seconds(pid) for name, pid in self._processes.items()},
            "Valkey": valkey,
            "callers and provider": time.process_time(),
        }


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process's threads so far; 0 where the system does not say."""
    # In nanoseconds; the times in /proc/PID/stat come in steps of 10 ms.
    spent = (_spent(thread) for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(spent) / 1e9


def _spent(schedstat: Path) -> int:
    """Return the nanoseconds of a thread; 0 if it has ended."""
    try:
        return int(schedstat.read_text().split()[0])
    except OSError:
        return 0
