"""The worker: claims executions while it has free slots, runs them, and drains when stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from holdfast.api import Claimer
from holdfast.concurrency import first_of, stop
from holdfast.errors import HoldfastError, NotOverHttp, StoreFull
from holdfast.model import bounds, checks
from holdfast.model.executions import Claim
from holdfast.model.ids import new_id
from holdfast.model.log_lines import LEVELS
from holdfast.model.partitions import ROOT_SEPARATOR
from holdfast.model.revisions import capability
from holdfast.model.workers import Beat
from holdfast.outages import level
from holdfast.services import Supervisor
from holdfast.worker import logs
from holdfast.worker.consumers import consume_until
from holdfast.worker.heartbeats import Heartbeats
from holdfast.worker.limits import create_limits
from holdfast.worker.parking import DEFAULT_KEPT
from holdfast.worker.patience import insist, pause
from holdfast.worker.pools import ProcessPool, ThreadPool
from holdfast.worker.publishing import descriptions
from holdfast.worker.runner import Runner
from holdfast.worker.slots import Slots

if TYPE_CHECKING:
    from holdfast.worker.app import App

log: logging.Logger = logging.getLogger(__name__)

_CLAIM_WAIT_MS = 5_000
#: A larger claim would keep the server busy for over a millisecond, and this worker idle.
_MOST_IN_CLAIM = 100
#: Executions that compute for longer than this when they start are started in smaller groups.
_LONG_START_S = 0.005
#: Members of graphs, children and turns start a few at a time: their ends concern others, and
#: occupy the store for several times as long.
_RELATED_AT_ONCE = 16
#: A worker with this many slots makes two claims at once, one with more makes more: a claim is
#: answered while the executions of another start.
_SLOTS_OF_TWO = 100
_MOST_CLAIMS = 4
_PAUSE_AFTER_ERROR_S = 1.0
#: How long claims and consumers have to end when the worker is cancelled.
_TAKING_GRACE_S = 2.0
#: How long tasks in threads have to notice that the worker stops immediately.
_THREADS_GRACE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The settings of a worker."""

    #: The pool of workers it belongs to.
    name: str = field(default_factory=lambda: "worker")
    lanes: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    #: It works for this revision of a deployment: it advertises the capability `rev:ID`.
    revision: str | None = None
    #: The maximum number of concurrent executions.
    slots: int = 100
    #: Threads for `def` tasks.
    threads: int = 32
    #: Processes for tasks with pool="process".
    processes: int = field(default_factory=lambda: os.cpu_count() or 1)
    lease_ms: int = 30_000
    #: Executions keep the log lines of their code at or above this level; None keeps none.
    keep_logs: str | None = "info"
    #: Conversations whose coroutine is kept while they wait for a message; others run again from
    #: their journal.
    kept: int = DEFAULT_KEPT
    #: Work for this tenant only; None works for all.
    tenant: str | None = None

    def __post_init__(self) -> None:
        checks.name("name", self.name)
        checks.names("lanes", self.lanes, bounds.LANES)
        checks.names("capabilities", self.capabilities, bounds.CAPABILITIES)
        if self.revision is not None:
            checks.name("revision", self.revision)
            advertised = (capability(self.revision), *self.capabilities)
            object.__setattr__(self, "capabilities", tuple(dict.fromkeys(advertised)))
        checks.integer("slots", self.slots, 1, bounds.SLOTS)
        checks.integer("threads", self.threads, 1, bounds.SLOTS)
        checks.integer("processes", self.processes, 1, bounds.SLOTS)
        checks.integer("kept", self.kept, 0, bounds.SLOTS)
        checks.lease_ms("lease_ms", self.lease_ms)
        if self.keep_logs is not None:
            checks.one_of("keep_logs", self.keep_logs, LEVELS)
        if self.tenant is not None:
            checks.name("tenant", self.tenant)


class Worker:
    """A worker of an open app."""

    def __init__(self, app: App, settings: WorkerSettings) -> None:
        self._app = app
        self._engine = app.engine
        self.settings = settings
        host = "".join(c if c.isalnum() or c in "-." else "-" for c in socket.gethostname())
        self.instance: str = f"{settings.name[:60]}.{host[:40]}.{os.getpid()}.{new_id()[-6:]}"
        self.lanes: tuple[str, ...] = settings.lanes or _lanes_of(app)
        #: It claims executions of these tasks only; others wait for a worker that has their task.
        self.kinds: tuple[str, ...] = tuple(sorted(app.tasks))
        self._slots = Slots(settings.slots)
        self._draining = asyncio.Event()
        self._claimer: Claimer | None = None
        self._started = asyncio.Event()
        self._attempts: dict[tuple[str, int], asyncio.Task[None]] = {}
        #: How many executions are started at once.
        self._at_once = _MOST_IN_CLAIM
        self._threads = ThreadPool(settings.threads)
        self._processes = ProcessPool(settings.processes)
        self._runner = Runner(
            app,
            slots=self._slots,
            lease_ms=settings.lease_ms,
            threads=self._threads,
            processes=self._processes,
            keep_logs=settings.keep_logs,
            kept=settings.kept,
        )

    def drain(self) -> None:
        """Stop claiming; `run` returns when the running executions have ended."""
        self._draining.set()
        if self._claimer is not None:
            self._claimer.stop()

    def release(self) -> None:
        """Stop immediately and return all leases; the executions continue elsewhere."""
        self._runner.released = True
        self.drain()
        for context in list(self._runner.running.values()):
            if not context.released:
                context.released = True
                context.lose()
                self._attempts[context.claim.key].cancel()
        self._processes.kill()

    async def wait_started(self, running: asyncio.Future[None]) -> None:
        """Wait until it listens for work; if `running` failed, raises its error."""
        running.add_done_callback(lambda _: self._started.set())
        await self._started.wait()
        if running.done():
            running.result()

    async def run(self) -> None:
        """Work until drained."""
        # Asking for it costs a system call, for each execution.
        self._loop = asyncio.get_running_loop()
        self._runner.main = asyncio.current_task()
        settings = self.settings
        beat = Beat(
            instance=self.instance,
            worker=settings.name,
            lanes=self.lanes,
            capabilities=settings.capabilities,
            slots=settings.slots,
            ttl_ms=settings.lease_ms,
            kinds=self.kinds,
        )
        beats = self._engine.beats(timeout_s=settings.lease_ms / 3000)
        self._heartbeats = Heartbeats(beats, beat, on_lost=self._on_lost, on_drain=self.drain)
        if not await self._register():
            return
        try:
            with self._capturing():
                async with self._sending(), self._serving():
                    await self._claim_until_drained()
        finally:
            try:
                await self._close()
            finally:
                # Also if it is cancelled a second time: they would go on without the worker.
                self._heartbeats.give_up()
                await asyncio.to_thread(self._heartbeats.stop)

    async def _close(self) -> None:
        if not await self._threads.wait_idle(_THREADS_GRACE_S):
            log.warning("some tasks in threads are still running; they end with the process")
        self._processes.close()
        await self._runner.close()

    def _capturing(self) -> contextlib.AbstractContextManager[None]:
        """Keep the records of all loggers, if lines are kept."""
        return logs.capturing() if self.settings.keep_logs else contextlib.nullcontext()

    def _sending(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Deliver replies of conversations through the app's senders, if it has some."""
        senders = self._app.senders
        if senders:
            try:
                return self._engine.sessions.sending(senders)
            except NotOverHttp as error:
                log.warning("senders %s are not used: %s", ", ".join(sorted(senders)), error)
        return contextlib.nullcontext()

    @contextlib.asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        """Run the services of the app."""
        supervisor = Supervisor()
        for service in self._app.services:
            supervisor.start(service)
        try:
            yield
        finally:
            await supervisor.close()

    async def _register(self) -> bool:
        """Wait until the worker is registered; returns False if it is drained before."""
        starting = asyncio.ensure_future(asyncio.to_thread(self._heartbeats.start))
        try:
            await first_of(starting, self._draining.wait())
        except asyncio.CancelledError:
            # It may have registered in this very moment.
            self._heartbeats.give_up()
            raise
        if not starting.done():
            self._heartbeats.give_up()
        return await starting

    async def _claim_until_drained(self) -> None:
        try:
            async with self._engine.claimer(
                worker=self.instance,
                lanes=self.lanes,
                capabilities=self.settings.capabilities,
                kinds=self.kinds,
                tenant=self.settings.tenant,
            ) as self._claimer:
                await insist(self._publish, self._draining)
                declaring = await self._declare()
                self._started.set()
                await self._claim_and_consume(self._claimer, declaring)
            await self._attempts_ended()
        except BaseException:
            # It was cancelled, or can no longer claim: its executions continue elsewhere.
            self.release()
            await self._attempts_ended()
            raise

    async def _attempts_ended(self) -> None:
        while self._attempts:
            await asyncio.wait(set(self._attempts.values()))

    async def _claim_and_consume(self, claimer: Claimer, declaring: Awaitable[None]) -> None:
        slots = self.settings.slots
        several = max(1, min(_MOST_CLAIMS, 2 * slots // _SLOTS_OF_TWO))
        most = min(_MOST_IN_CLAIM, math.ceil(slots / several))
        claims = (self._claim(claimer, most) for _ in range(several))
        claiming = [asyncio.ensure_future(claim) for claim in claims]
        taking = [asyncio.ensure_future(self._consume()), *claiming]
        works = [asyncio.ensure_future(declaring), *taking]
        try:
            # Unlike `gather`, this does not cancel them when the worker is cancelled.
            done, _ = await asyncio.wait(works, return_when=asyncio.FIRST_EXCEPTION)
            for work in done:
                work.result()
        except BaseException:
            # What the store grants at this moment is returned, and messages in hand become
            # executions; cancelled, all would wait until leases and locks expire.
            self.release()
            self._slots.close()
            await asyncio.wait(taking, timeout=_TAKING_GRACE_S)
            raise
        finally:
            await stop(*works)

    async def _consume(self) -> None:
        """Hand messages of queues to the app until the worker is drained; then end the claims."""
        consuming = consume_until(self._draining, self._app, self.instance)
        await asyncio.gather(self._draining.wait(), consuming)
        # A claim under way is not cancelled: its leases would be lost until they expire.
        self._slots.close()

    async def _publish(self) -> None:
        await self._engine.tasks.publish(descriptions(self._app), tenant=self.settings.tenant)

    async def _declare(self) -> Awaitable[None]:
        """Store what the app declares; returns a task that keeps trying if the store is full."""
        try:
            await insist(self._put_declared, self._draining, when_full=False)
        except StoreFull:
            # Workers drain a full store, so none may wait for it.
            log.warning(
                "the store is full; the app's limits and schedules are stored when it has room"
            )
            return asyncio.ensure_future(insist(self._put_declared, self._draining))
        return asyncio.sleep(0)

    async def _put_declared(self) -> None:
        await create_limits(self._app)
        for plan in self._app.schedules.values():
            await self._engine.schedules.put(plan)

    async def _claim(self, claimer: Claimer, most: int) -> None:
        while True:
            await self._slots.wait_free()
            if self._draining.is_set():
                return
            with self._slots.reserved(most) as limit:
                try:
                    claims = await claimer.claim(limit, self.settings.lease_ms, _CLAIM_WAIT_MS)
                except HoldfastError as error:
                    log.log(level(error), "claiming failed: %s", error)
                    await pause(self._draining, _PAUSE_AFTER_ERROR_S)
                    continue
                await self._start_all(claims)

    async def _start_all(self, claims: Sequence[Claim]) -> None:
        """Start executions, few at a time if they or the store compute for long.

        So calls of the first are under way while the others start.
        """
        loop = self._loop
        is_related = any(ROOT_SEPARATOR in claim.id for claim in claims[:1])
        most = _RELATED_AT_ONCE if is_related else _MOST_IN_CLAIM
        self._slots.take(len(claims))
        self._heartbeats.hold(claims)
        started = 0
        while started < len(claims):
            at_once = min(most, self._at_once)
            for claim in claims[started : started + at_once]:
                self._start(claim)
            started += at_once
            before = loop.time()
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                # The worker is cancelled: attempts that have not begun return their leases.
                for claim in claims[started:]:
                    self._start(claim)
                raise
            if loop.time() - before > _LONG_START_S:
                self._at_once = max(1, self._at_once // 2)
            else:
                self._at_once = min(2 * self._at_once, _MOST_IN_CLAIM)

    def _start(self, claim: Claim) -> None:
        self._attempts[claim.key] = self._loop.create_task(self._attempt(claim))

    def _end_in_time(self, claim: Claim, timeout_at: datetime) -> asyncio.TimerHandle:
        """Stop an attempt after its timeout, as the store does."""
        claimed_at = claim.expires_at - timedelta(milliseconds=self.settings.lease_ms)
        left_s = (timeout_at - claimed_at).total_seconds()
        return self._loop.call_later(
            left_s, self._on_lost, claim, f"the attempt ran longer than its timeout, {left_s:g} s"
        )

    async def _attempt(self, claim: Claim) -> None:
        timeout_at = claim.timeout_at
        timer = None if timeout_at is None else self._end_in_time(claim, timeout_at)
        try:
            if self._runner.released:
                await self._give_back(claim)
            else:
                await self._runner.run(claim, self._attempts[claim.key])
        except asyncio.CancelledError:
            await self._give_back(claim)
        finally:
            if timer is not None:
                timer.cancel()
            self._heartbeats.release(claim)
            self._attempts.pop(claim.key, None)
            self._slots.give_back()

    async def _give_back(self, claim: Claim) -> None:
        """Return the lease, so that the attempt can continue elsewhere immediately."""
        with contextlib.suppress(HoldfastError):
            await self._engine.delay(claim.id, claim.lease, 0)

    def _on_lost(self, claim: Claim, why: str) -> None:
        """Notify the task of the lost lease: a flag for threads, cancellation for coroutines."""
        context = self._runner.running.get(claim.key)
        if context is None or context.lost:
            return
        log.info("the lease was lost: %s", why, extra=logs.fields(claim))
        context.lose()
        self._heartbeats.release(claim)
        if self._app.tasks[claim.kind].is_async:
            self._attempts[claim.key].cancel()


def _lanes_of(app: App) -> tuple[str, ...]:
    """Return the lanes that the app's tasks are submitted to."""
    return tuple(sorted({task.lane for task in app.tasks.values()})) or ("default",)


class Stoppable(Protocol):
    """Something that stops in two steps: it finishes its work, or drops it at once."""

    def drain(self) -> None:
        """Take no new work."""

    def release(self) -> None:
        """Stop immediately and return all leases."""


@contextlib.contextmanager
def stop_on_signals(worker: Stoppable) -> Iterator[None]:
    """Drain at the first SIGTERM or SIGINT, release everything at the second."""
    loop = asyncio.get_running_loop()
    seen = 0

    def stop() -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            log.warning("draining: no new work; interrupt again to stop immediately")
            worker.drain()
        else:
            log.warning("stopping immediately; leases are returned")
            worker.release()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
