"""The engine on an open store: it assembles the nouns and runs the services."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast.api.assembly import add_nouns
from holdfast.archive.store_archive import StoreArchive
from holdfast.engine.activities import Activities
from holdfast.engine.admission import Admission
from holdfast.engine.announcing import Announcer
from holdfast.engine.api_keys import ApiKeys
from holdfast.engine.asking import Asking
from holdfast.engine.audit import Audit
from holdfast.engine.budgets import Budgets
from holdfast.engine.bulk import BulkActions
from holdfast.engine.bulk_runner import BulkRunner
from holdfast.engine.changes import Changes
from holdfast.engine.courier import Courier
from holdfast.engine.drainer import Drainer
from holdfast.engine.endpoints import Endpoints
from holdfast.engine.executions import Executions
from holdfast.engine.feeds import Feeds
from holdfast.engine.file_sweeper import FileSweeper
from holdfast.engine.files import Files
from holdfast.engine.graphs import Graphs
from holdfast.engine.historian import Historian
from holdfast.engine.keyring import SigningKeys
from holdfast.engine.opened_endpoints import OpenedEndpoints
from holdfast.engine.payloads import Payloads
from holdfast.engine.quotas import Quotas
from holdfast.engine.replying import Replying
from holdfast.engine.reporter import Reporter
from holdfast.engine.rolling import Roller
from holdfast.engine.scheduler import Scheduler
from holdfast.engine.schedules import Schedules
from holdfast.engine.secrets import Secrets
from holdfast.engine.sessions import Sessions
from holdfast.engine.streams import Streams
from holdfast.engine.ticker import Ticker
from holdfast.engine.waitpoints import Waitpoints
from holdfast.engine.webhooks import Webhooks
from holdfast.engine.workers import Workers
from holdfast.errors import GraphFinished
from holdfast.fencing.in_store import StoreObjects
from holdfast.fencing.leases import Leases
from holdfast.model.pulse import Pulse
from holdfast.operate.operability import Operability
from holdfast.queues import Queues, QueueTicker
from holdfast.routing import Router, StorePins
from holdfast.services import Supervisor
from holdfast.store.engine import StoreEngine
from holdfast.store.store import Store, StoreSettings, open_store


class Engine(StoreEngine):
    """All nouns on an open store. Make it with `open_engine`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.keyring: SigningKeys = SigningKeys(store)
        self.webhooks: Webhooks = Webhooks(self.keyring)
        self.streams: Streams = Streams(store)
        self.payloads: Payloads = Payloads(store)
        self.files: Files = Files(store, self.payloads)
        self.graphs: Graphs = Graphs(store, self.payloads)
        self.courier: Courier = Courier(store)
        #: What runs beside the calls of this process.
        self.services: Supervisor = Supervisor()
        self.sessions: Sessions = Sessions(store, self.courier, self.services, self.files)
        self.admission: Admission = Admission(store, self.courier)
        self.waitpoints: Waitpoints = Waitpoints(store, self.keyring, self.admission, self.courier)
        asking = Asking(store, self.waitpoints)
        self.executions: Executions = Executions(store, self.payloads, self.admission, self.courier)
        self.bulk: BulkActions = BulkActions(store, self.executions)
        self.budgets: Budgets = Budgets(store, self.courier, self._stop, asking)
        self.quotas: Quotas = Quotas(store, self.courier)
        self.queues: Queues = Queues(store)
        self.workers: Workers = Workers(store)
        self.schedules: Schedules = Schedules(store)
        self.api_keys: ApiKeys = ApiKeys(store)
        self.audit: Audit = Audit(store)
        self.router: Router = Router(StorePins(store))
        self.activities: Activities = Activities(store, self.sessions, self.executions, self.router)
        self.secrets: Secrets = Secrets(store)
        self.endpoints: Endpoints = Endpoints(store, self.secrets)
        self.opened_endpoints: OpenedEndpoints = OpenedEndpoints(self.endpoints)
        self.archive: StoreArchive = StoreArchive(store)
        self.writer_leases: Leases = Leases(StoreObjects(store))
        self.changes: Changes = Changes(store)
        self.feeds: Feeds = Feeds(store, self.queues)
        self.operability: Operability = Operability(self)
        # The rest need only the store, and offer only their contract.
        add_nouns(self, "holdfast.engine", store)

    def start_services(self) -> None:
        """Fire timers and schedules, deliver between partitions, call webhooks, send replies."""
        for service in (
            Ticker(self.store, self.courier),
            self.courier,
            Scheduler(self.store),
            QueueTicker(self.store),
            Drainer(self.store),
            Roller(self.store, self.executions),
            BulkRunner(self.store, self.executions, self.courier),
            Announcer(self.store, self.executions, self.keyring, self.webhooks),
            Replying(self.store, self.opened_endpoints),
            FileSweeper(self.files),
            Historian(self.store, self.queues),
            Reporter(self.store, self.services),
        ):
            self.services.start(service)

    @override
    async def close(self) -> None:
        await self.streams.close()
        await self.sessions.close()
        await self.courier.close()
        await self.queues.close()
        await self.executions.close()
        await self.graphs.close()
        await self.changes.close()
        await self.store.declarations.close()

    @override
    async def pulse(self) -> Pulse:
        return await self.store.queries.pulse()

    @property
    def is_away(self) -> bool:
        """Whether the store, or a part of it, has not answered for more than a second."""
        return self.store.caller.is_away

    @override
    async def ping(self) -> None:
        await self.store.api_keys.find("")

    async def _stop(self, execution_id: str, reason: str) -> None:
        """Cancel an execution, and with it the rest of its graph."""
        graph = (await self.executions.describe(execution_id)).graph
        if graph is None:
            await self.executions.cancel(execution_id, reason)
        else:
            with contextlib.suppress(GraphFinished):
                await self.graphs.cancel(graph, reason=reason)


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
