"""Processes of the workload, most of them simulated in this one: workers and clients.

A simulated process has connections of its own. Its death is an end of all its connections, without
a last call; a pause is an end of all traffic that lasts, while its connections stay open.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from holdfast.engine import Engine, open_engine
from holdfast.errors import HoldfastError
from holdfast.store.store import StoreSettings
from holdfast.worker.worker import Worker, WorkerSettings
from tests.chaos.seeded.app import make_app
from tests.chaos.seeded.history import Ledger
from tests.chaos.seeded.topology import Topology

#: Short, so that calls end unanswered within a seed.
SETTINGS = StoreSettings(fake_clock=True, call_timeout_ms=1_200, boot_timeout_ms=2_000, codec=None)
LEASE_MS = 1_000
_PAUSE_S = 0.05

Job = Callable[[Engine, str], Awaitable[None]]


class Process:
    """A simulated process that opens the store and does its job until it is killed."""

    def __init__(self, topology: Topology, user: str, job: Job, *, maintenance: bool) -> None:
        self._topology = topology
        self.user = user
        self.job = job
        self.maintenance = maintenance
        self._life = asyncio.ensure_future(self._live())

    async def _live(self) -> None:
        while True:
            try:
                url = self._topology.url(self.user)
                async with open_engine(url, SETTINGS, maintenance=self.maintenance) as engine:
                    await self.job(engine, self.user)
                    return
            except HoldfastError:
                # As a supervisor would start it again.
                await asyncio.sleep(_PAUSE_S)

    def kill(self) -> None:
        """End it without a last call."""
        self._topology.cut_off(self.user)
        self._life.cancel()

    def pause(self, is_paused: bool) -> None:
        """Hold all its traffic back, or let it go on."""
        for link in self._topology.links():
            path = link.path(self.user)
            path.holds_requests = path.holds_replies = is_paused

    def raise_failure(self) -> None:
        """Raise what ended it, if that was a mistake in its code."""
        if self._life.done() and not self._life.cancelled():
            self._life.result()

    async def wait(self) -> None:
        """Wait until it has ended; raises what ended it."""
        with contextlib.suppress(asyncio.CancelledError):
            await self._life


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
