"""The engine: every operation on executions, checked at its entry."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.engine.admission import Admission
from holdfast.engine.api_keys import ApiKeys
from holdfast.engine.asking import Asking
from holdfast.engine.audit import Audit
from holdfast.engine.beats import Beats
from holdfast.engine.blocked import blocking_limit
from holdfast.engine.budgets import Budgets
from holdfast.engine.changes import Changes
from holdfast.engine.claimer import Claimer
from holdfast.engine.courier import Courier
from holdfast.engine.explain import explain, lacks_task
from holdfast.engine.feeds import Feeds
from holdfast.engine.graphs import Graphs
from holdfast.engine.keyring import SigningKeys
from holdfast.engine.lane_views import look
from holdfast.engine.lanes import Lanes
from holdfast.engine.payloads import Payloads
from holdfast.engine.quotas import Quotas
from holdfast.engine.reporter import Reporter
from holdfast.engine.results import Results
from holdfast.engine.scheduler import Scheduler
from holdfast.engine.schedules import Schedules
from holdfast.engine.streams import Streams
from holdfast.engine.ticker import Ticker
from holdfast.engine.waitpoints import Waitpoints
from holdfast.engine.workers import Workers
from holdfast.errors import GraphFinished, HoldfastError, InvalidInput
from holdfast.fencing.in_store import StoreObjects
from holdfast.fencing.leases import Leases
from holdfast.model import bounds, checks, declarations
from holdfast.model.executions import (
    Attempt,
    Event,
    Execution,
    Failure,
    Lease,
    NewExecution,
    Outcome,
    Step,
    Submitted,
    result_of,
)
from holdfast.model.explanations import Explanation
from holdfast.model.exports import Exported
from holdfast.model.lanes import LaneView
from holdfast.model.listing import Count, Filter, Page
from holdfast.model.pulse import Pulse
from holdfast.model.states import State
from holdfast.queues import Queues, QueueTicker
from holdfast.services import Supervisor
from holdfast.store.declarations import blamed
from holdfast.store.store import Store, StoreSettings, open_store

DEFAULT_LEASE_MS = 30_000


class Engine:
    """Executions on an open store. Make it with `open_engine`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lanes: Lanes = Lanes(store)
        self.workers: Workers = Workers(store)
        self.keyring: SigningKeys = SigningKeys(store)
        self.streams: Streams = Streams(store)
        self.schedules: Schedules = Schedules(store)
        self.payloads: Payloads = Payloads(store)
        self.graphs: Graphs = Graphs(store, self.payloads)
        self.courier: Courier = Courier(store)
        self.admission: Admission = Admission(store, self.courier)
        self.waitpoints: Waitpoints = Waitpoints(store, self.keyring, self.admission, self.courier)
        asking = Asking(store, self.waitpoints)
        self.budgets: Budgets = Budgets(store, self.courier, self._stop, asking)
        self.quotas: Quotas = Quotas(store, self.courier)
        self.queues: Queues = Queues(store)
        self.api_keys: ApiKeys = ApiKeys(store)
        self.audit: Audit = Audit(store)
        self.writer_leases: Leases = Leases(StoreObjects(store))
        self.feeds: Feeds = Feeds(store)
        self.changes: Changes = Changes(store)
        self._results = Results(store, self.payloads)
        #: What runs beside the calls of this process.
        self.services: Supervisor = Supervisor()

    def start_services(self) -> None:
        """Fire timers and schedules, and carry what partitions have for each other."""
        for service in (
            Ticker(self.store, self.courier),
            self.courier,
            Scheduler(self.store),
            QueueTicker(self.store),
            Reporter(self.store, self.services),
        ):
            self.services.start(service)

    async def close(self) -> None:
        """Stop listening for results; whoever reads a stream live is told to come back."""
        await self.streams.close()
        await self.courier.close()
        await self.queues.close()
        await self._results.close()
        await self.graphs.close()
        await self.changes.close()
        await self.store.declarations.close()

    # Submitting

    async def submit(self, kind: str, **fields: Any) -> Submitted:
        """Create an execution; the fields are those of NewExecution.

        Options that are not given are those that workers published of the task. Its input must fit
        the published schema, unless `check` is False.
        """
        item = NewExecution.from_fields({"kind": kind, **fields})
        (answer,) = await self.submit_many([item])
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    async def check_limits(self, items: Iterable[NewExecution]) -> None:
        """Raise BudgetNotFound or QuotaNotFound unless all limits that the items name exist."""
        await asyncio.gather(*(self.store.attach(item) for item in items))

    async def submit_many(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        """Create up to 1,000 executions: an answer or an error for each, in order."""
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        is_complete = True
        for number, item in enumerate(items):
            checks.instance(f"items[{number}]", item, NewExecution)
            is_complete = is_complete and not (item.unset or item.check)
        if is_complete:
            return await self._create(items)
        completed = await self.store.declarations.complete(items)
        good = [item for item in completed if isinstance(item, NewExecution)]
        made = iter(await self._create(good))
        answers = [one if isinstance(one, InvalidInput) else next(made) for one in completed]
        return [
            blamed(item, answer) if isinstance(answer, HoldfastError) else answer
            for item, answer in zip(items, answers, strict=True)
        ]

    async def _create(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        return await self.store.executions.create(await self.payloads.store_inputs(items))

    # Running

    @contextlib.asynccontextmanager
    async def claimer(
        self,
        *,
        worker: str,
        lanes: Sequence[str] = ("default",),
        capabilities: Sequence[str] = (),
        kinds: Sequence[str] | None = None,
        tenant: str | None = None,
    ) -> AsyncIterator[Claimer]:
        """Open a claimer for one worker; it listens for work while the block runs."""
        claimer = Claimer(
            self.store,
            self.admission,
            self.payloads,
            worker=checks.name("worker", worker),
            lanes=checks.names("lanes", lanes, bounds.LANES, least=1),
            capabilities=checks.names("capabilities", capabilities, bounds.CAPABILITIES),
            kinds=checks.kinds("kinds", kinds),
            tenant=None if tenant is None else checks.name("tenant", tenant),
        )
        await claimer.open()
        try:
            yield claimer
        finally:
            await claimer.close()

    def beats(self, *, timeout_s: float) -> Beats:
        """Open a blocking connection for heartbeats, which a thread of its own sends."""
        # It loads a second client library, which workers need and nothing else does.
        from holdfast.store.valkey.blocking import BlockingStore  # noqa: PLC0415

        return BlockingStore(self.store, timeout_s=timeout_s)

    async def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int = DEFAULT_LEASE_MS
    ) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""
        checks.lease_ms("lease_ms", lease_ms)
        for execution_id, lease in held:
            checks.execution_id("execution", execution_id)
            checks.instance("lease", lease, Lease)
        return await self.store.leases.renew(held, lease_ms)

    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes = b"null",
        *,
        content_type: str | None = None,
    ) -> None:
        """End an execution with its result; safe to repeat."""
        _check_holder(execution_id, lease)
        checks.payload("result", result)
        if content_type is not None:
            checks.text("content_type", content_type, bounds.CONTENT_TYPE_CHARS)
        result = await self.payloads.store_result(execution_id, result)
        await self.store.executions.complete(execution_id, lease, result, content_type or "")
        self.admission.ended(execution_id, lease)

    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        """End an attempt; returns the state and when it is tried again. Safe to repeat."""
        _check_holder(execution_id, lease)
        checks.instance("failure", failure, Failure)
        answer = await self.store.executions.fail(execution_id, lease, failure)
        self.admission.ended(execution_id, lease)
        return answer

    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        """Give the lease back and go on with the same attempt later; safe to repeat."""
        _check_holder(execution_id, lease)
        checks.integer("delay_ms", delay_ms, 0, bounds.DURATION_MS)
        answer = await self.store.executions.delay(execution_id, lease, delay_ms)
        self.admission.ended(execution_id, lease)
        return answer

    async def progress(
        self, execution_id: str, lease: Lease, pct: float, message: str = ""
    ) -> None:
        """Record how far the holder is."""
        _check_holder(execution_id, lease)
        checks.number("pct", pct, 0, 100)
        checks.text("message", message, bounds.PROGRESS_CHARS)
        await self.store.executions.progress(execution_id, lease, pct, message)

    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        """Record a step; returns its recorded result, which never changes."""
        _check_holder(execution_id, lease)
        checks.text("step", name, bounds.STEP_NAME_CHARS, empty=False)
        checks.payload("result", result)
        return await self.store.executions.checkpoint(execution_id, lease, name, result)

    # Operating

    async def cancel(self, execution_id: str, reason: str = "") -> None:
        """Cancel an execution that has not ended; a holder learns it at its next call."""
        checks.execution_id("id", execution_id)
        checks.text("reason", reason, bounds.REASON_CHARS)
        await self.store.executions.cancel(execution_id, reason)
        self.courier.poke(self.store.tag_of(execution_id))

    async def _stop(self, execution_id: str, reason: str) -> None:
        """Cancel an execution, and with it the rest of its graph."""
        graph = (await self.describe(execution_id)).graph
        if graph is None:
            await self.cancel(execution_id, reason)
        else:
            with contextlib.suppress(GraphFinished):
                await self.graphs.cancel(graph, reason=reason)

    async def replay(
        self,
        execution_id: str,
        *,
        keep_steps: bool = False,
        from_step: str | None = None,
        reason: str = "",
    ) -> State:
        """Run a terminal execution again, from its start or from a step."""
        checks.execution_id("id", execution_id)
        checks.flag("keep_steps", keep_steps)
        checks.text("reason", reason, bounds.REASON_CHARS)
        if from_step is not None:
            checks.text("from_step", from_step, bounds.STEP_NAME_CHARS, empty=False)
            if keep_steps:
                checks.refuse("from_step", "cannot be combined with keep_steps", from_step)
        return await self.store.executions.replay(
            execution_id,
            keep_steps=keep_steps,
            from_step=from_step or "",
            reason=reason,
        )

    async def revoke_lease(self, execution_id: str, reason: str = "") -> None:
        """Take the lease from its holder; the execution is ready again at once."""
        checks.execution_id("id", execution_id)
        checks.text("reason", reason, bounds.REASON_CHARS)
        await self.store.leases.revoke(execution_id, reason)
        self.courier.poke(self.store.tag_of(execution_id))

    async def prioritize(self, execution_id: str, priority: int) -> int:
        """Change the priority; returns the previous one."""
        checks.execution_id("id", execution_id)
        checks.integer("priority", priority, -bounds.PRIORITY, bounds.PRIORITY)
        return await self.store.executions.prioritize(execution_id, priority)

    # Asking

    async def describe(self, execution_id: str) -> Execution:
        """Return what is known about an execution."""
        return await self.store.queries.describe(_id(execution_id))

    async def owner(self, execution_id: str) -> str:
        """Return the tenant that it belongs to."""
        return await self.store.queries.owner(_id(execution_id))

    async def input(self, execution_id: str) -> bytes:
        """Return the input as it was submitted."""
        return await self.payloads.input(_id(execution_id))

    async def history(self, execution_id: str) -> list[Event]:
        """Return what happened to it, oldest first."""
        return await self.store.queries.history(_id(execution_id))

    async def attempts(self, execution_id: str) -> list[Attempt]:
        """Return its attempts, oldest first."""
        return await self.store.queries.attempts(_id(execution_id))

    async def steps(self, execution_id: str) -> list[Step]:
        """Return its journal in the order of recording."""
        return await self.store.queries.steps(_id(execution_id))

    async def outcome(self, execution_id: str) -> Outcome | None:
        """Return how it ended, or None."""
        return await self._results.outcome(_id(execution_id))

    async def wait(self, execution_id: str, *, timeout_s: float | None = None) -> Outcome:
        """Wait for its end; raises ResultNotReady when the time is over."""
        if timeout_s is not None:
            checks.number("timeout_s", timeout_s, 0, bounds.DURATION_MS / 1000)
        return await self._results.wait(_id(execution_id), timeout_s)

    async def result(self, execution_id: str, *, timeout_s: float | None = None) -> bytes:
        """Wait for its result; raises ExecutionFailed if it ended without one."""
        return result_of(await self.wait(execution_id, timeout_s=timeout_s))

    async def export(self, execution_id: str) -> Exported:
        """Return everything of an execution that has ended; raises NotTerminal."""
        return await self.payloads.open_export(await self.store.archives.export(_id(execution_id)))

    async def list(
        self, wanted: Filter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        """Return a page of executions, newest first."""
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        wanted = Filter() if wanted is None else checks.instance("wanted", wanted, Filter)
        return await self.store.queries.page(wanted, limit, cursor)

    async def count(self, tenant: str | None = None) -> Sequence[Count]:
        """Return exact counts by tenant, lane, kind and state."""
        if tenant is not None:
            checks.name("tenant", tenant)
        return await self.store.queries.count(tenant)

    async def lane_views(self, *, tenant: str | None = None) -> Sequence[LaneView]:
        """Return what is known of each lane; with a tenant, only what concerns it."""
        return await look(self, tenant=tenant)

    async def pulse(self) -> Pulse:
        """Return how the store is doing: waiting times, late timers, incidents."""
        return await self.store.queries.pulse()

    async def tasks(self, *, tenant: str | None = None) -> dict[str, dict[str, Any]]:
        """Return what workers published of their tasks: those of all tenants and of this one.

        What a worker of the tenant published of a task replaces what one of all tenants did.
        """
        if tenant is not None:
            checks.name("tenant", tenant)
        return await self.store.tasks.list(tenant)

    async def publish_tasks(
        self, described: Mapping[str, Mapping[str, Any]], *, tenant: str | None = None
    ) -> None:
        """Publish descriptions of tasks, as `Task.describe` gives them; submissions follow them.

        Those of the same name are replaced.
        """
        for name, description in checks.mapping("tasks", described).items():
            declarations.check(checks.kind("task", name), description, tenant)
        await self.store.tasks.publish(described, tenant)
        self.store.declarations.forget()

    async def ping(self) -> None:
        """Ask the store for a sign of life, library included."""
        await self.store.api_keys.find("")

    async def explain(self, execution_id: str) -> Explanation:
        """Say why it is not running."""
        standing, workers = await asyncio.gather(
            self.store.queries.standing(_id(execution_id)), self.store.workers.list()
        )
        wait = None
        if standing.execution.state is State.SUSPENDED:
            _, wait = await self.store.waitpoints.of(execution_id)
        limit = await blocking_limit(self.store, standing.execution)
        tasks = {}
        if lacks_task(standing, workers):
            tasks = await self.store.tasks.list(standing.execution.tenant)
        return explain(standing, workers, wait=wait, limit=limit, tasks=tasks)


def _check_holder(execution_id: str, lease: Lease) -> None:
    checks.execution_id("id", execution_id)
    checks.instance("lease", lease, Lease)


def _id(execution_id: str) -> str:
    return checks.execution_id("id", execution_id)


@contextlib.asynccontextmanager
async def open_engine(
    url: str, settings: StoreSettings | None = None, *, maintenance: bool = True
) -> AsyncIterator[Engine]:
    """Open an engine on a store; with `maintenance` this process also fires timers."""
    async with open_store(url, settings) as store:
        engine = Engine(store)
        await engine.keyring.install_configured()
        if maintenance:
            engine.start_services()
        try:
            yield engine
        finally:
            await engine.services.close()
            await engine.close()
