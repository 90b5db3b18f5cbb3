"""One measurement: a producer process submits tasks, then one worker process drains them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import struct
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench.peers.peer import Peer
from bench.processes import processor_seconds
from holdfast.engine import open_engine
from holdfast.store.valkey.ports import free_port
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer

#: No peer takes this long to start, or between two tasks.
_STALLED_S = 60
_LOOK_S = 0.01
#: More often until the first task runs: the processor time is counted from there.
_LOOK_FIRST_S = 0.001


class Stalled(Exception):
    """A peer did not take or run its tasks."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one measurement saw."""

    count: int
    submit_s: float
    drain_s: float
    worker_cpu_s: float
    #: Of Valkey, during the drain.
    server_cpu_s: float

    @property
    def figures(self) -> dict[str, float]:
        """Rates, and the processor time of worker and server for each task."""
        return {
            "end to end /s": self.count / (self.submit_s + self.drain_s),
            "submit /s": self.count / self.submit_s,
            "drain /s": self.count / self.drain_s,
            "worker CPU us per task": self.worker_cpu_s / self.count * 1e6,
            "Valkey CPU us per task": self.server_cpu_s / self.count * 1e6,
        }


async def measure(peer: Peer, python: Path, valkey: TestServer, count: int) -> Result:
    """Submit tasks with one process, then run them with one worker."""
    with tempfile.TemporaryDirectory(prefix="holdfast-peers-") as folder:
        async with _served(peer, folder, valkey.port) as store:
            return await _measure(
                peer, python, store, valkey=valkey.process.pid, count=count, folder=Path(folder)
            )


@contextlib.asynccontextmanager
async def _served(peer: Peer, folder: str, port: int) -> AsyncIterator[str]:
    """Start the peer's own server if it has one; yield where its tasks are kept."""
    if not peer.server:
        yield peer.store.format(port=port, folder=folder)
        return
    own = free_port()
    command = [word.format(port=own, folder=folder) for word in peer.server]
    async with _running(command, peer.folder, os.environ, DEVNULL):

        async def is_open() -> bool:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", own)
                writer.close()
                return True
            return False

        await wait_for(is_open)
        yield peer.store.format(port=own)


async def _measure(
    peer: Peer, python: Path, store: str, *, valkey: int, count: int, folder: Path
) -> Result:
    ledger = folder / "ledger"
    environment = {**os.environ, "BENCH_STORE": store, "BENCH_LEDGER": str(ledger)}
    async with _running(peer.submit(python, count), peer.folder, environment) as producer:
        said, problem = await producer.communicate()
        if producer.returncode:
            raise Stalled(f"{peer.name} could not submit: {problem.decode()[-2_000:]}")
        submit_s = float(said.split()[-1])
    log = folder / "worker.log"
    command = peer.worker(python, store)
    with log.open("wb") as output:
        async with (
            _settling(peer, store, count) as settled,
            _running(command, peer.folder, environment, output) as worker,
        ):
            try:
                await _ran(ledger, 1)
                before_s = _session_seconds(worker.pid), processor_seconds(valkey)
                await _ran(ledger, count)
            except Stalled as error:
                raise Stalled(f"{peer.name} {error}: {log.read_text()[-2_000:]}") from None
            await wait_for(settled)
            ended = time.monotonic()
            after_s = _session_seconds(worker.pid), processor_seconds(valkey)
    (first_ns,) = struct.unpack_from("<q", ledger.read_bytes())
    spent_s = (after - before for before, after in zip(before_s, after_s, strict=True))
    return Result(count, submit_s, ended - first_ns / 1e9, *spent_s)


@contextlib.asynccontextmanager
async def _running(
    command: list[str], folder: Path, environment: Mapping[str, str], output: IO[bytes] | int = PIPE
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a command in a session of its own; end all of it with the block."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _ran(ledger: Path, count: int) -> None:
    """Wait until the ledger has this many entries."""
    seen, deadline = 0, time.monotonic() + _STALLED_S
    while seen < count:
        await asyncio.sleep(_LOOK_S if seen else _LOOK_FIRST_S)
        now = ledger.stat().st_size // 8 if ledger.exists() else 0
        if now > seen:
            seen, deadline = now, time.monotonic() + _STALLED_S
        elif time.monotonic() > deadline:
            raise Stalled(f"ran {seen:,} of {count:,} tasks, and no more for a minute")


@contextlib.asynccontextmanager
async def _settling(
    peer: Peer, store: str, count: int
) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
    """Yield whether the store says that all have completed: what Holdfast calls done."""
    if not peer.settles:

        async def ran() -> bool:
            return True

        yield ran
        return
    # Opened before the drain begins: connecting is no part of it.
    async with open_engine(store, maintenance=False) as engine:

        async def all_completed() -> bool:
            counts = await engine.count()
            return sum(one.count for one in counts if one.state == "completed") >= count

        yield all_completed


def _session_seconds(pid: int) -> float:
    """Return the processor time of all processes of a session."""
    processes = (int(path.parent.name) for path in Path("/proc").glob("[0-9]*/stat"))
    return sum(processor_seconds(one) for one in processes if _session(one) == pid)


def _session(pid: int) -> int:
    """Return the session of a process; 0 if it has gone."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0
