"""The client: an engine whose store is behind a server."""

from __future__ import annotations

import os
from typing import Self

from typing_extensions import override

from holdfast import api
from holdfast.client.api_keys import RemoteApiKeys
from holdfast.client.archive import RemoteArchive
from holdfast.client.audit import RemoteAudit
from holdfast.client.budgets import RemoteBudgets
from holdfast.client.changes import RemoteChanges
from holdfast.client.executions import RemoteExecutions
from holdfast.client.feeds import RemoteFeeds
from holdfast.client.graphs import RemoteGraphs
from holdfast.client.http import EVERY_TENANT, Http
from holdfast.client.keyring import RemoteSigningKeys
from holdfast.client.lanes import RemoteLanes
from holdfast.client.operability import RemoteOperability
from holdfast.client.queues import RemoteQueues
from holdfast.client.quotas import RemoteQuotas
from holdfast.client.schedules import RemoteSchedules
from holdfast.client.sessions import RemoteSessions
from holdfast.client.streams import RemoteStreams
from holdfast.client.tasks import RemoteTasks
from holdfast.client.waitpoints import RemoteWaitpoints
from holdfast.client.workers import RemoteWorkers
from holdfast.client.writer_leases import RemoteLeases
from holdfast.model import checks
from holdfast.model.pulse import Pulse

KEY_VARIABLE = "HOLDFAST_KEY"
CALL_TIMEOUT_MS = 15_000


def is_remote(store: str) -> bool:
    """Whether a store's URL is that of a server."""
    return store.startswith(("http://", "https://"))


class Client(api.Engine):
    """Executions over HTTP, with the calls of an engine in the process.

    `async with Client("https://holdfast.example.org", key="hf_...") as client:`. Calls whose answer
    is lost are sent again within their time, as far as that is safe; calls that did not get
    through, or were refused for the moment, within `patience_ms`.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        timeout_ms: int = CALL_TIMEOUT_MS,
        patience_ms: int | None = None,
    ) -> None:
        checks.integer("timeout_ms", timeout_ms, 1, 3_600_000)
        patience_ms = timeout_ms if patience_ms is None else patience_ms
        checks.integer("patience_ms", patience_ms, 1, timeout_ms)
        #: Whom an operator key acts for; a key of one tenant acts for that.
        self._tenant = tenant
        secret = key or os.environ.get(KEY_VARIABLE) or None
        self._http = Http(url, secret, timeout_ms, patience_ms)
        self.executions: RemoteExecutions = RemoteExecutions(self._http, tenant)
        self.lanes: RemoteLanes = RemoteLanes(self._http)
        self.workers: RemoteWorkers = RemoteWorkers(self._http)
        whose = tenant or EVERY_TENANT
        self.keyring: RemoteSigningKeys = RemoteSigningKeys(self._http)
        self.waitpoints: RemoteWaitpoints = RemoteWaitpoints(self._http, whose)
        self.sessions: RemoteSessions = RemoteSessions(self._http, tenant)
        self.streams: RemoteStreams = RemoteStreams(self._http)
        self.graphs: RemoteGraphs = RemoteGraphs(
            self._http, tenant, EVERY_TENANT, self.executions.result
        )
        self.queues: RemoteQueues = RemoteQueues(self._http, tenant)
        self.tasks: RemoteTasks = RemoteTasks(self._http, tenant)
        self.budgets: RemoteBudgets = RemoteBudgets(self._http, tenant)
        self.quotas: RemoteQuotas = RemoteQuotas(self._http, tenant)
        self.schedules: RemoteSchedules = RemoteSchedules(self._http, tenant)
        self.api_keys: RemoteApiKeys = RemoteApiKeys(self._http)
        self.audit: RemoteAudit = RemoteAudit(self._http, tenant)
        self.writer_leases: RemoteLeases = RemoteLeases(self._http, tenant)
        self.archive: RemoteArchive = RemoteArchive(self._http, whose)
        self.feeds: RemoteFeeds = RemoteFeeds(self._http)
        self.changes: RemoteChanges = RemoteChanges(self._http)
        self.operability: RemoteOperability = RemoteOperability(self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    @override
    async def close(self) -> None:
        await self._http.close()

    @override
    async def pulse(self) -> Pulse:
        reply = await self._http.get("/v1/pulse")
        return Pulse(
            late_s=reply["late_ms"] / 1000,
            waiting_s={lane: ms / 1000 for lane, ms in reply["waiting_ms"].items()},
            incidents=reply["incidents"],
        )

    @override
    async def ping(self) -> None:
        await self._http.send("GET", "/readyz")
