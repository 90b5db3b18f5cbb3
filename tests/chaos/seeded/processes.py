"""Processes of the workload: workers, hosts, clients, and servers of the HTTP API.

Most are simulated in this process, with connections of their own. The death of one is an end of all
its connections, without a last call; a pause is an end of all traffic that lasts, while connections
stay open. Some are real, in some seeds.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path

from typing_extensions import override

from holdfast.api import Engine
from holdfast.client import Client
from holdfast.concurrency import first_of, stop
from holdfast.engine import Engine as NearEngine
from holdfast.engine import open_engine
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.host.host import Host
from holdfast.host.settings import HostSettings
from holdfast.store.store import StoreSettings
from holdfast.worker.worker import Worker, WorkerSettings
from tests.chaos.seeded.app import make_app
from tests.chaos.seeded.history import Ledger
from tests.chaos.seeded.topology import Topology
from tests.support import commands

#: Short, so that calls end unanswered within a seed.
SETTINGS = StoreSettings(fake_clock=True, call_timeout_ms=1_200, boot_timeout_ms=2_000, codec=None)
LEASE_MS = 1_000
_PAUSE_S = 0.05
_ROOT = Path(__file__).parents[3]

Job = Callable[[Engine, str], Awaitable[None]]
Opening = contextlib.AbstractAsyncContextManager[Engine]


class Kind(StrEnum):
    """What a process is for."""

    WORKER = "worker"
    CLIENT = "client"
    #: It serves packs.
    HOST = "host"
    #: It serves the HTTP API.
    SERVER = "server"


class Process(ABC):
    """A process that can die and pause."""

    kind: Kind

    def __init__(self, topology: Topology, user: str) -> None:
        self.topology = topology
        self.user = user

    @abstractmethod
    def again(self, user: str) -> Process:
        """Start another one for the same purpose."""

    @abstractmethod
    def kill(self) -> None:
        """End it without a last call."""

    @abstractmethod
    def pause(self, is_paused: bool) -> None:
        """Let it stand still, or go on."""

    @abstractmethod
    def stop(self) -> None:
        """Ask it to end."""

    @abstractmethod
    async def wait(self) -> None:
        """Wait until it has ended."""

    @abstractmethod
    def raise_failure(self) -> None:
        """Raise if a mistake in its code has ended it."""


class Simulated(Process):
    """A process within this one: it opens the store and does its job."""

    def __init__(self, topology: Topology, user: str, kind: Kind, job: Job, url: str = "") -> None:
        super().__init__(topology, user)
        self.kind = kind
        self._job = job
        #: The address of an HTTP server, if it uses one.
        self._url = url
        self._life = asyncio.ensure_future(self._live())

    @override
    def again(self, user: str) -> Process:
        return Simulated(self.topology, user, self.kind, self._job, self._url)

    async def _live(self) -> None:
        while True:
            try:
                async with self._open() as engine:
                    await self._job(engine, self.user)
                    return
            except InvalidInput:
                raise
            except HoldfastError:
                # As a supervisor would start it again.
                await asyncio.sleep(_PAUSE_S)

    def _open(self) -> Opening:
        if self._url:
            return Client(self._url)
        url = self.topology.url(self.user)
        return open_engine(url, SETTINGS, maintenance=self.kind is not Kind.CLIENT)

    @override
    def kill(self) -> None:
        self.topology.cut_off(self.user)
        self._life.cancel()

    @override
    def pause(self, is_paused: bool) -> None:
        for link in self.topology.links():
            path = link.path(self.user)
            path.holds_requests = path.holds_replies = is_paused

    @override
    def stop(self) -> None:
        """Its job ends by itself."""

    @override
    async def wait(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._life

    @override
    def raise_failure(self) -> None:
        if self._life.done() and not self._life.cancelled():
            self._life.result()


class Real(Process):
    """A process of its own: a worker, a host, or a server of the HTTP API on a port."""

    def __init__(
        self, topology: Topology, user: str, kind: Kind, folder: Path, port: int = 0
    ) -> None:
        super().__init__(topology, user)
        self.kind = kind
        self._folder, self._port = folder, port
        args = (kind, topology.url(user), user, str(folder / f"{user}.notes"), str(port))
        with (folder / f"{user}.log").open("ab") as log:
            self._command = commands.start(
                args,
                folder=_ROOT,
                environment=os.environ,
                stdout=log,
                stderr=log,
                module="tests.chaos.seeded.child",
            )
        self._is_ending = False

    @override
    def again(self, user: str) -> Process:
        return Real(self.topology, user, self.kind, self._folder, self._port)

    @override
    def kill(self) -> None:
        self._is_ending = True
        self._command.kill()
        self.topology.cut_off(self.user)

    @override
    def pause(self, is_paused: bool) -> None:
        self._command.send_signal(signal.SIGSTOP if is_paused else signal.SIGCONT)

    @override
    def stop(self) -> None:
        self._is_ending = True
        self._command.terminate()

    @override
    async def wait(self) -> None:
        await asyncio.to_thread(self._command.wait, 30)

    @override
    def raise_failure(self) -> None:
        code = self._command.poll()
        if code is not None and not self._is_ending:
            log = (self._folder / f"{self.user}.log").read_text()
            raise RuntimeError(f"{self.kind} {self.user} ended with {code}: {log[-2000:]}")


def worker_job(ledger: Ledger, stop: asyncio.Event) -> Job:
    """Return the job of a worker, which ends when `stop` is set."""

    async def job(engine: Engine, user: str) -> None:
        app = make_app(ledger).attach(engine)
        worker = Worker(app, WorkerSettings(name=user, slots=20, lease_ms=LEASE_MS, kept=0))
        running = asyncio.ensure_future(worker.run())
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
            worker.drain()
            await running
        finally:
            stopping.cancel()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    return job


def host_job(stopping: asyncio.Event) -> Job:
    """Return the job of a host of packs, which ends when `stopping` is set."""

    async def job(engine: Engine, user: str) -> None:
        del user
        assert isinstance(engine, NearEngine)
        host = Host(engine, HostSettings(slots=20, lease_ms=LEASE_MS))
        running = asyncio.ensure_future(host.run())
        try:
            await first_of(running, stopping.wait())
            host.drain()
            await running
        finally:
            # A host that was killed leaves nothing that goes on.
            host.release()
            await stop(running)

    return job
