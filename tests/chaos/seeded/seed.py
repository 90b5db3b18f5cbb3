"""Runs one seed: workload under faults, then peace, then the check."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from holdfast import api
from holdfast.engine import Engine, open_engine
from holdfast.errors import HoldfastError, OutcomeUnknown, StoreUnavailable
from holdfast.store.store import StoreSettings
from holdfast.store.valkey.ports import free_port
from holdfast.store.verify.checking import violations
from holdfast.testing.polling import wait_for
from tests.chaos.seeded import attempts
from tests.chaos.seeded.clock import StoreClock
from tests.chaos.seeded.evidence import Evidence
from tests.chaos.seeded.faults import FAULTS
from tests.chaos.seeded.history import Status
from tests.chaos.seeded.processes import Job, Kind, Process, Real, Simulated, host_job, worker_job
from tests.chaos.seeded.schedule import Schedule
from tests.chaos.seeded.topology import PREFIX, RAW_ERRORS, Topology
from tests.chaos.seeded.verdict import BROKEN_OFF, UNFINISHED, Verdict, Waiting
from tests.chaos.seeded.world import World
from tests.support.dump import dump_keys

HARNESS = "harness"
WORKERS, HOSTS, CLIENTS = 2, 2, 2
#: How many calls at least come before the first fault, and until the last one is over.
CALLS = 20
#: How long the next piece of work may take to end once there are no more faults.
DRAIN_S = 240.0
#: How often servers may go away by themselves, as those of a starved cluster do.
_PEACES = 5
_PULSE_S = 0.05
#: How long queues remember who settled a delivery, by the clock of the store.
_SETTLED_MS = 30_000
_OPEN = ("waiting", "delayed", "active", "rate_limited", "suspended", "blocked")
_PATIENT = StoreSettings(fake_clock=True, call_timeout_ms=30_000, codec=None)


async def run(schedule: Schedule, topology: Topology) -> Verdict:
    """Run a seed on servers that are up, and judge it."""
    verdict = Verdict(schedule)
    began = time.monotonic()
    waiting = Waiting([server.pid for server in topology.servers])
    verdict.evidence = Evidence(topology.servers)
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-chaos-") as folder,
        verdict.evidence.listening(),
    ):
        pulse = asyncio.ensure_future(_feel_pulse(verdict))
        try:
            await topology.empty()
            topology.random.seed(f"{schedule} network")
            async with open_engine(topology.url(HARNESS), _PATIENT, maintenance=False) as engine:
                await _Run(verdict, topology, engine, Path(folder)).run()
        except Exception:  # noqa: BLE001 - whatever it is, it is found and kept
            verdict.problems.append(f"{BROKEN_OFF}: {traceback.format_exc()}")
            verdict.evidence.gather(Path(folder), {})
        finally:
            pulse.cancel()
    verdict.took_s, verdict.waited = time.monotonic() - began, waiting.share
    verdict.calls = Counter(str(call.status) for call in verdict.history.calls)
    return verdict


async def _feel_pulse(verdict: Verdict) -> None:
    """Notice how long this process stands still."""
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        await asyncio.sleep(_PULSE_S)
        verdict.stalled_s = max(verdict.stalled_s, loop.time() - began - _PULSE_S)


class _Run:
    """A seed under way."""

    def __init__(self, verdict: Verdict, topology: Topology, engine: Engine, folder: Path) -> None:
        self._folder = folder
        self._verdict = verdict
        self._schedule = verdict.schedule
        self._topology = topology
        self._engine = engine
        history, ledger = verdict.history, verdict.ledger
        self._workloads = [
            kind(history, ledger, self._random(kind.title())) for kind in self._schedule.workloads
        ]
        queues = [queue for workload in self._workloads for queue in workload.queues]
        self._clock = StoreClock(engine.store, queues)
        self._clients_stop, self._workers_stop = asyncio.Event(), asyncio.Event()
        self._users = (f"p{n}" for n in range(1000))
        self._world = World(topology, self._clock, self._random("world"), self._again)
        self._dumped: dict[str, Any] = {}

    def _random(self, part: str) -> Random:
        """Return the chance of a part: what one does is not moved by when another does it."""
        return Random(f"{self._schedule.seed} {self._schedule.topology} {part}")

    async def run(self) -> None:
        """Run and judge it; nothing of it goes on afterwards."""
        try:
            await self._run()
        except Exception:  # noqa: BLE001 - whatever it is, it is found and kept
            self._verdict.problems.append(f"{BROKEN_OFF}: {traceback.format_exc()}")
        finally:
            for process in (*self._world.processes, *self._world.dead):
                process.kill()
            self._verdict.log = self._world.log
            if self._verdict.problems and self._verdict.evidence is not None:
                self._verdict.evidence.gather(self._folder, self._dumped)

    async def _run(self) -> None:
        for workload in self._workloads:
            await workload.prepare(self._engine)
        self._world.processes = self._processes()
        await self._calls(CALLS)
        await self._strike()
        await self._calls(2 * CALLS)
        await self._topology.settle()
        self._cut_off_the_dead()
        self._clients_stop.set()
        await self._wait_for(Kind.CLIENT)
        await self._clock.catch_up()
        await self._bring_to_end()
        self._workers_stop.set()
        await self._wait_for(Kind.WORKER, Kind.HOST, Kind.SERVER)
        for process in self._world.dead:
            await process.wait()
        self._verdict.ledger.gather(self._folder)
        async for text in self._check():
            self._verdict.problems.append(text)

    async def _calls(self, count: int) -> None:
        """Wait until clients have made this many calls: else a slow machine shows nothing."""
        history = self._verdict.history

        async def made() -> bool:
            for process in self._world.processes:
                process.raise_failure()
            return len(history.calls) >= count

        await wait_for(made, timeout_s=DRAIN_S)

    def _processes(self) -> list[Process]:
        work = worker_job(self._verdict.ledger, self._workers_stop)
        url = ""
        started: list[Process] = []
        if self._schedule.is_real:
            port = self._topology.http.target = free_port()
            url = f"http://127.0.0.1:{self._topology.http.port}"
            started += [self._real(Kind.SERVER, port), self._real(Kind.WORKER)]
        while len(started) < WORKERS:
            started.append(self._simulated(Kind.WORKER, work))
        started += self._hosts() if self._schedule.needs_hosts else []
        started += [self._simulated(Kind.CLIENT, self._client) for _ in range(CLIENTS - 1)]
        return [*started, self._simulated(Kind.CLIENT, self._client, url)]

    def _hosts(self) -> list[Process]:
        job = host_job(self._workers_stop)
        first = self._real(Kind.HOST) if self._schedule.is_real else self._simulated(Kind.HOST, job)
        return [first, *(self._simulated(Kind.HOST, job) for _ in range(HOSTS - 1))]

    def _simulated(self, kind: Kind, job: Job, url: str = "") -> Process:
        return Simulated(self._topology, next(self._users), kind, job, url)

    def _real(self, kind: Kind, port: int = 0) -> Process:
        return Real(self._topology, next(self._users), kind, self._folder, port)

    def _again(self, process: Process) -> Process:
        return process.again(next(self._users))

    async def _client(self, engine: api.Engine, user: str) -> None:
        async with asyncio.TaskGroup() as group:
            for workload in self._workloads:
                group.create_task(workload.run(engine, user, self._clients_stop))

    async def _strike(self) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        known = FAULTS[self._schedule.topology]
        async with asyncio.TaskGroup() as group:
            for number, (at, name) in enumerate(self._schedule.faults):
                await asyncio.sleep(start + at - loop.time())
                random = self._random(f"fault {number}")
                world = replace(self._world, random=random, name=f"{name} {number}")
                world.note("strikes")
                group.create_task(known[name][0](world))
            await asyncio.sleep(start + self._schedule.length_s - loop.time())

    def _cut_off_the_dead(self) -> None:
        """Keep what is dead from the network that was mended."""
        for process in self._world.dead:
            self._topology.cut_off(process.user)

    async def _wait_for(self, *kinds: Kind) -> None:
        async with asyncio.timeout(DRAIN_S):
            for process in self._world.processes:
                if process.kind in kinds:
                    process.stop()
                    await process.wait()

    async def _bring_to_end(self) -> None:
        """Let all work end; mend servers that break by themselves, as a starved cluster does."""
        waiting = list(self._workloads)
        for _ in range(_PEACES):
            try:
                async with asyncio.timeout(DRAIN_S) as limit:
                    while waiting:
                        await waiting[0].finish(self._engine)
                        del waiting[0]
                    await self._drain(limit)
            except (StoreUnavailable, OutcomeUnknown) as error:
                self._world.note(f"in peace: {error!r}")
                await self._topology.settle()
            except (HoldfastError, TimeoutError) as error:
                why = "".join(traceback.format_exception(error))
                self._verdict.problems.append(f"{UNFINISHED}: {why}")
                return
            else:
                return
        self._verdict.problems.append(f"the store was away {_PEACES} times in peace")

    async def _drain(self, limit: asyncio.Timeout) -> None:
        """Let time pass until all work has ended; the limit is for the end of one more."""
        step_ms = 500
        least = None
        while left := await self._left():
            if least is None or left.total() < least:
                least = left.total()
                limit.reschedule(asyncio.get_running_loop().time() + DRAIN_S)
            # Time that runs faster than the heartbeats would take leases away for ever.
            if not left["active"]:
                step_ms = min(2 * step_ms, 32_000)
                await self._clock.jump(step_ms)
            await self._clock.tick()
            await asyncio.sleep(0.03)

    async def _left(self) -> Counter[str]:
        """Return how much work has not ended, by state."""
        left: Counter[str] = Counter()
        for one in await self._engine.count():
            if one.state in _OPEN and one.count:
                left[str(one.state)] += one.count
        for workload in self._workloads:
            if count := await workload.left(self._engine):
                left[workload.title()] += count
        return left

    async def _check(self) -> AsyncIterator[str]:
        for text in self._verdict.history.broken:
            yield text
        dump = self._dumped = await self._dump()
        for text in violations(dump, self._clock.now_ms):
            yield text
        self._doubt_acks()
        # An execution that was archived and removed is created again by a call that is repeated.
        reborn = {call.key for call in self._verdict.history.of("replay", "archived")}
        for text in attempts.judge(self._verdict.ledger, reborn):
            yield text
        for workload in self._workloads:
            async for text in workload.check(self._engine, dump):
                yield f"{workload.title()}: {text}"

    def _doubt_acks(self) -> None:
        """Take back what the store says of deliveries that it forgot as the clock went forward."""
        for call in self._verdict.history.of("ack"):
            if call.error == "stale_delivery" and self._clock.jumped(
                call.began, call.ended, _SETTLED_MS
            ):
                call.status = Status.UNKNOWN

    async def _dump(self) -> dict[str, Any]:
        """Return all keys; once more if a server went away meanwhile."""
        while True:
            await self._topology.settle()
            with contextlib.suppress(*RAW_ERRORS):
                primaries = await asyncio.to_thread(self._topology.primaries)
                return await asyncio.to_thread(dump_keys, primaries, PREFIX)
