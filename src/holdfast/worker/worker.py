"""The worker: claims executions while it has free slots, runs them, drains when told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.engine.claimer import Claimer
from holdfast.errors import HoldfastError, LeaseLost
from holdfast.model import checks, limits
from holdfast.model.executions import Claim
from holdfast.model.ids import new_id
from holdfast.store.blocking import BlockingStore
from holdfast.worker.heartbeats import Beat, Heartbeats
from holdfast.worker.runner import Runner
from holdfast.worker.slots import Slots

if TYPE_CHECKING:
    from holdfast.worker.app import App

log = logging.getLogger(__name__)

_CLAIM_WAIT_MS = 5_000
_PAUSE_AFTER_ERROR_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a worker runs."""

    #: The pool of workers it belongs to.
    name: str = field(default_factory=lambda: "worker")
    lanes: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    #: Executions at once.
    slots: int = 100
    #: Threads for `def` tasks.
    threads: int = 32
    #: Processes for tasks with pool="process".
    processes: int = field(default_factory=lambda: os.cpu_count() or 1)
    lease_ms: int = 30_000

    def __post_init__(self) -> None:
        checks.name("name", self.name)
        checks.names("lanes", self.lanes, limits.LANES)
        checks.names("capabilities", self.capabilities, limits.CAPABILITIES)
        checks.integer("slots", self.slots, 1, limits.SLOTS)
        checks.integer("threads", self.threads, 1, limits.SLOTS)
        checks.integer("processes", self.processes, 1, limits.SLOTS)
        checks.lease_ms("lease_ms", self.lease_ms)


class Worker:
    """A worker of an app that is open."""

    def __init__(self, app: App, settings: WorkerSettings) -> None:
        self._app = app
        self._engine = app.engine
        self.settings = settings
        host = "".join(c if c.isalnum() or c in "-." else "-" for c in socket.gethostname())
        self.instance = f"{settings.name}.{host[:40]}.{os.getpid()}.{new_id()[-6:]}"
        self.lanes = settings.lanes or _lanes_of(app)
        self._slots = Slots(settings.slots)
        self._draining = asyncio.Event()
        self._started = asyncio.Event()
        self._attempts: dict[str, asyncio.Task[None]] = {}

    def drain(self) -> None:
        """Claim no more; `run` returns when what runs has ended."""
        self._draining.set()

    def release(self) -> None:
        """Stop at once and give all leases back; the executions go on elsewhere."""
        self._draining.set()
        for attempt in self._attempts.values():
            attempt.cancel()

    async def wait_started(self, running: asyncio.Future[None]) -> None:
        """Wait until it listens for work; raises what `running` raised, if it failed."""
        running.add_done_callback(lambda _: self._started.set())
        await self._started.wait()
        if running.done():
            running.result()

    async def run(self) -> None:
        """Work until drained."""
        settings = self.settings
        beat = Beat(
            instance=self.instance,
            worker=settings.name,
            lanes=self.lanes,
            capabilities=settings.capabilities,
            slots=settings.slots,
            lease_ms=settings.lease_ms,
        )
        blocking = BlockingStore(self._engine.store, timeout_s=settings.lease_ms / 3000)
        self._heartbeats = Heartbeats(blocking, beat, on_lost=self._on_lost, on_drain=self.drain)
        await asyncio.to_thread(self._heartbeats.start)
        try:
            with _executors(self._app, settings) as (threads, processes):
                self._runner = Runner(
                    self._app,
                    slots=self._slots,
                    lease_ms=settings.lease_ms,
                    threads=threads,
                    processes=processes,
                )
                try:
                    await self._claim_until_drained()
                finally:
                    await self._runner.resources.close()
        finally:
            await asyncio.to_thread(self._heartbeats.stop)

    async def _claim_until_drained(self) -> None:
        async with self._engine.claimer(
            worker=self.instance, lanes=self.lanes, capabilities=self.settings.capabilities
        ) as claimer:
            described = {name: task.describe() for name, task in self._app.tasks.items()}
            await self._engine.store.tasks.publish(described)
            self._started.set()
            claiming = asyncio.ensure_future(self._claim(claimer))
            await self._draining.wait()
            # A claim that is under way is not cancelled: its leases would belong to nobody.
            self._slots.close()
            claimer.stop()
            await claiming
        while self._attempts:
            await asyncio.wait(set(self._attempts.values()))

    async def _claim(self, claimer: Claimer) -> None:
        while True:
            await self._slots.wait_free()
            if self._draining.is_set():
                return
            limit = min(self._slots.free, limits.CLAIM_ITEMS)
            try:
                claims = await claimer.claim(limit, self.settings.lease_ms, _CLAIM_WAIT_MS)
            except HoldfastError as error:
                log.warning("claiming failed: %s", error)
                await _pause(self._draining)
                continue
            for claim in claims:
                self._start(claim)

    def _start(self, claim: Claim) -> None:
        self._slots.take(1)
        self._heartbeats.hold(claim.id, claim.lease)
        attempt = asyncio.get_running_loop().create_task(self._attempt(claim))
        self._attempts[claim.id] = attempt

    async def _attempt(self, claim: Claim) -> None:
        try:
            await self._runner.run(claim)
        except asyncio.CancelledError:
            # Released: the attempt goes on elsewhere, at once.
            with contextlib.suppress(HoldfastError):
                await self._engine.delay(claim.id, claim.lease, 0)
        finally:
            self._heartbeats.release(claim.id)
            self._attempts.pop(claim.id, None)
            self._slots.give_back()

    def _on_lost(self, execution_id: str, error: LeaseLost) -> None:
        """Tell the task that its lease is lost: a flag for threads, cancellation for coroutines."""
        context = self._runner.running.get(execution_id)
        attempt = self._attempts.get(execution_id)
        if context is None or attempt is None or context.lost:
            return
        log.info("lease lost: %s", error)
        context.lose()
        self._heartbeats.release(execution_id)
        if self._app.tasks[context.claim.kind].is_async:
            attempt.cancel()


async def _pause(draining: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PAUSE_AFTER_ERROR_S):
            await draining.wait()


def _lanes_of(app: App) -> tuple[str, ...]:
    """Return the lanes that the app's tasks are submitted to."""
    return tuple(sorted({task.lane for task in app.tasks.values()})) or ("default",)


@contextlib.contextmanager
def _executors(app: App, settings: WorkerSettings) -> Iterator[tuple[Executor, Executor]]:
    """Open the pools for blocking tasks; without tasks for processes, threads serve for both."""
    threads = ThreadPoolExecutor(settings.threads, "holdfast-task")
    with contextlib.ExitStack() as stack:
        processes: Executor = stack.enter_context(threads)
        if any(task.pool == "process" for task in app.tasks.values()):
            spawned = multiprocessing.get_context("spawn")
            processes = stack.enter_context(ProcessPoolExecutor(settings.processes, spawned))
        yield threads, processes


@contextlib.contextmanager
def stop_on_signals(worker: Worker) -> Iterator[None]:
    """Drain at the first SIGTERM or SIGINT, release everything at the second."""
    loop = asyncio.get_running_loop()
    seen = 0

    def stop() -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            log.warning("draining: no new work; once more to stop at once")
            worker.drain()
        else:
            log.warning("stopping at once; leases are given back")
            worker.release()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
