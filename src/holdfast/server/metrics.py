"""Metrics for Prometheus.

Some count the calls that pass through this server. Others are read from the store at each scrape
and are the same on every server. Labels are bounded: routes, statuses, states, and the first lanes
seen.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter as Tally
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from holdfast.engine import Engine
from holdfast.errors import HoldfastError, QueueNotFound
from holdfast.model.executions import Claim
from holdfast.model.pins import Finding
from holdfast.model.queues import GroupStats
from holdfast.model.services import ServiceStatus
from holdfast.model.states import AttemptKind
from holdfast.server.http.declare import Route
from holdfast.server.siblings import Siblings

Figure = TypeVar("Figure", Counter, Gauge, Histogram)

if TYPE_CHECKING:
    from holdfast.model.pulse import Pulse

#: The most queues, and groups per queue, to report: their names are labels.
MOST_QUEUES = 50
MOST_GROUPS = 10
#: Lanes beyond this number share one label.
MOST_LANES = 200
OTHER_LANES = "_other"
#: The shortest time between two reads of the store.
FRESH_S = 5.0
_MOST_RUNNING = 50_000
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LONG = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400)


class Metrics:
    """The metrics of one server process."""

    def __init__(self, shared: Path | None = None) -> None:
        """Make the metrics; processes that serve one port share a folder."""
        self.registry: CollectorRegistry = CollectorRegistry()
        self.siblings = None if shared is None else Siblings(shared, self.registry)
        self._lanes: set[str] = set()
        self._running: OrderedDict[tuple[str, int], tuple[float, str]] = OrderedDict()
        self._read_at = -FRESH_S
        self._incidents_seen: dict[str, int] = {}
        self._restarts_seen: dict[str, int] = {}
        self._pins_seen: Tally[Finding] = Tally()
        self._answers: dict[tuple[Route, int], tuple[Counter, Histogram]] = {}
        self._count_calls()
        self._count_work()
        self._look_at_store()

    def _count_calls(self) -> None:
        self._requests = self._add(
            Counter, "http_requests_total", "Answered calls.", "method", "route", "status"
        )
        self._seconds = self._add(
            Histogram,
            "http_request_seconds",
            "Time to answer a call. Long polls wait on purpose.",
            "method",
            "route",
            buckets=_SECONDS,
        )
        self._waits = self._add(Gauge, "http_waiting_calls", "Open long polls.")
        self._tails = self._add(Gauge, "http_live_streams", "Open live streams.")

    def _count_work(self) -> None:
        self._claims = self._add(
            Counter, "claims_total", "Executions handed to workers over HTTP.", "lane", "attempt"
        )
        self._queued = self._add(
            Histogram,
            "queue_delay_seconds",
            "Time from submission to the first claim, without requested delays.",
            "lane",
            buckets=_LONG,
        )
        self._ran = self._add(
            Histogram,
            "run_seconds",
            "Time from the claim to the end of the attempt.",
            "lane",
            "outcome",
            buckets=_LONG,
        )

        self._pins = self._add(
            Counter, "pins_total", "Calls for the pin of a session, by what they found.", "result"
        )
        for finding in Finding:
            self._pins.labels(finding)

    def _look_at_store(self) -> None:
        self._executions = self._add(
            Gauge, "executions", "Executions in the store, by lane and state.", "lane", "state"
        )
        self._oldest = self._add(
            Gauge,
            "oldest_waiting_seconds",
            "How long the oldest waiting execution has waited.",
            "lane",
        )
        self._workers = self._add(Gauge, "workers", "Live workers.", "lane")
        self._slots = self._add(Gauge, "worker_slots", "Slots of live workers.", "state")
        self._messages = self._add(
            Gauge,
            "queue_messages",
            "Messages of a queue's group by their state; `pushed` is the sum of the others.",
            "queue",
            "group",
            "place",
        )
        self._service_up = self._add(
            Gauge, "service_up", "1 while the service of this process is running.", "service"
        )
        self._service_restarts = self._add(
            Counter,
            "service_restarts_total",
            "How often a service of this process stopped and was restarted.",
            "service",
        )
        self._late = self._add(Gauge, "tick_lag_seconds", "How late the most overdue timer is.")
        self._store_seconds = self._add(
            Gauge, "store_seconds", "The round-trip time of a call to the store."
        )
        self._store_up = self._add(Gauge, "store_up", "1 if the store answers.")
        self._incidents = self._add(
            Counter, "incidents_total", "Lost leases, timeouts, retries, deadlines.", "incident"
        )

    def _add(
        self, kind: Callable[..., Figure], name: str, about: str, *labels: str, **rest: object
    ) -> Figure:
        return kind(f"holdfast_{name}", about, labels, registry=self.registry, **rest)

    def _lane(self, lane: str) -> str:
        if lane not in self._lanes and len(self._lanes) >= MOST_LANES:
            return OTHER_LANES
        self._lanes.add(lane)
        return lane

    def answered(self, route: Route, status: int, seconds: float) -> None:
        """Count a call."""
        found = self._answers.get((route, status))
        if found is None:
            count = self._requests.labels(route.method, route.path, str(status))
            found = (count, self._seconds.labels(route.method, route.path))
            self._answers[route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def claimed(self, claims: Sequence[Claim], lease_ms: int) -> None:
        """Record the claimed executions and how long they had waited."""
        now = time.monotonic()
        for claim in claims:
            lane = self._lane(claim.lane)
            self._claims.labels(lane, claim.attempt_kind).inc()
            self._running[claim.key] = (now, lane)
            if claim.attempt_kind is AttemptKind.INITIAL and not claim.steps:
                waited = claim.expires_at - claim.created_at
                self._queued.labels(lane).observe(waited.total_seconds() - lease_ms / 1000)
        while len(self._running) > _MOST_RUNNING:
            self._running.popitem(last=False)

    def ended(self, execution_id: str, epoch: int, outcome: str) -> None:
        """Record how an attempt ended and how long it ran."""
        started = self._running.pop((execution_id, epoch), None)
        if started is not None:
            at, lane = started
            self._ran.labels(lane, outcome).observe(time.monotonic() - at)

    async def render(self, engine: Engine, *, waits: int, tails: int) -> bytes:
        """Return all metrics as text."""
        self._waits.set(waits)
        self._tails.set(tails)
        self._note_services(engine.services.statuses())
        self._note_pins(engine.router.pins.counts)
        now = time.monotonic()
        if now - self._read_at >= FRESH_S:
            self._read_at = now
            try:
                await self._read(engine)
            except HoldfastError:
                self._store_up.set(0)
        if self.siblings is None:
            return generate_latest(self.registry)
        everyone = CollectorRegistry()
        everyone.register(self.siblings)
        return generate_latest(everyone)

    def _note_services(self, statuses: Sequence[ServiceStatus]) -> None:
        for status in statuses:
            self._service_up.labels(status.name).set(status.running)
            restarts = status.restarts - self._restarts_seen.get(status.name, 0)
            self._restarts_seen[status.name] = status.restarts
            self._service_restarts.labels(status.name).inc(restarts)

    def _note_pins(self, counts: Tally[Finding]) -> None:
        for finding, count in (counts - self._pins_seen).items():
            self._pins.labels(finding).inc(count)
        self._pins_seen = counts.copy()

    async def _read(self, engine: Engine) -> None:
        started = time.perf_counter()
        await engine.ping()
        self._store_seconds.set(time.perf_counter() - started)
        self._store_up.set(1)
        counts, workers, pulse = await asyncio.gather(
            engine.count(), engine.workers.list(), engine.pulse()
        )
        by_cell: Tally[tuple[str, str]] = Tally()
        for cell in counts:
            by_cell[self._lane(cell.lane), cell.state] += cell.count
        self._executions.clear()
        for (lane, state), count in by_cell.items():
            self._executions.labels(lane, state).set(count)
        self._workers.clear()
        for lane, count in Tally(self._lane(n) for worker in workers for n in worker.lanes).items():
            self._workers.labels(lane).set(count)
        self._slots.labels("busy").set(sum(worker.busy for worker in workers))
        self._slots.labels("free").set(
            sum(max(0, worker.slots - worker.busy) for worker in workers)
        )
        self._tell(pulse)
        await self._read_queues(engine)

    async def _read_queues(self, engine: Engine) -> None:
        queues = await engine.queues.list(limit=MOST_QUEUES)
        groups = await asyncio.gather(*(_groups(engine, queue.name) for queue in queues))
        self._messages.clear()
        for queue, found in zip(queues, groups, strict=True):
            for group, counts in list(found.items())[:MOST_GROUPS]:
                for place, count in asdict(counts).items():
                    self._messages.labels(queue.name, group, place).set(count)

    def _tell(self, pulse: Pulse) -> None:
        self._late.set(pulse.late_s)
        self._oldest.clear()
        for lane, seconds in pulse.waiting_s.items():
            self._oldest.labels(self._lane(lane)).set(seconds)
        for name, count in pulse.incidents.items():
            grown = count - self._incidents_seen.get(name, 0)
            self._incidents_seen[name] = count
            self._incidents.labels(name).inc(max(0, grown))


async def _groups(engine: Engine, queue: str) -> Mapping[str, GroupStats]:
    """Count the messages of a queue by group; a queue that no longer exists has none."""
    try:
        return (await engine.queues.stats(queue)).groups
    except QueueNotFound:
        return {}
