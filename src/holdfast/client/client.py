"""The client: an engine whose store is behind a server."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

import msgspec

from holdfast.client import decode
from holdfast.client.api_keys import RemoteApiKeys, RemoteAudit
from holdfast.client.archive import RemoteArchive
from holdfast.client.beats import RemoteBeats, lease_body, renewal_body, renewed
from holdfast.client.claiming import RemoteClaimer
from holdfast.client.graphs import RemoteGraphs
from holdfast.client.http import Http, Remote, path
from holdfast.client.limits import RemoteBudgets, RemoteQuotas
from holdfast.client.live import RemoteChanges, RemoteFeeds
from holdfast.client.nouns import RemoteLanes, RemoteWorkers
from holdfast.client.pages import page_of
from holdfast.client.queues import RemoteQueues
from holdfast.client.schedules import RemoteSchedules
from holdfast.client.streams import RemoteStreams
from holdfast.client.submitting import answer_of, body_of
from holdfast.client.waitpoints import RemoteSigningKeys, RemoteWaitpoints
from holdfast.client.writer_leases import RemoteLeases
from holdfast.engine.claimer import Claimer
from holdfast.engine.engine import DEFAULT_LEASE_MS, Engine
from holdfast.errors import AlreadyTerminal, HoldfastError, ResultNotReady, TaskError
from holdfast.model import bounds, checks, exports, payloads
from holdfast.model.executions import (
    JSON_CONTENT_TYPE,
    Attempt,
    Event,
    Execution,
    ExecutionId,
    Failure,
    Lease,
    NewExecution,
    Outcome,
    Step,
    Submitted,
)
from holdfast.model.explanations import Explanation
from holdfast.model.exports import Exported
from holdfast.model.lanes import LaneView
from holdfast.model.listing import Count, Filter, Page
from holdfast.model.pulse import Pulse
from holdfast.model.states import State

#: Lists show everything that the key may see.
EVERY_TENANT = "*"
KEY_VARIABLE = "HOLDFAST_KEY"
CALL_TIMEOUT_MS = 15_000
#: One long poll for a result; the next follows at once.
_WAIT_MS = 20_000


def is_remote(store: str) -> bool:
    """Whether a store's URL is that of a server."""
    return store.startswith(("http://", "https://"))


class Client(Remote, Engine):
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
        self.lanes: RemoteLanes = RemoteLanes(self._http)
        self.workers: RemoteWorkers = RemoteWorkers(self._http)
        whose = tenant or EVERY_TENANT
        self.keyring: RemoteSigningKeys = RemoteSigningKeys(self._http)
        self.waitpoints: RemoteWaitpoints = RemoteWaitpoints(self._http, whose)
        self.streams: RemoteStreams = RemoteStreams(self._http)
        self.graphs: RemoteGraphs = RemoteGraphs(self._http, tenant, EVERY_TENANT, self.result)
        self.queues: RemoteQueues = RemoteQueues(self._http, tenant)
        self.budgets: RemoteBudgets = RemoteBudgets(self._http, tenant)
        self.quotas: RemoteQuotas = RemoteQuotas(self._http, tenant)
        self.schedules: RemoteSchedules = RemoteSchedules(self._http, tenant)
        self.api_keys: RemoteApiKeys = RemoteApiKeys(self._http)
        self.audit: RemoteAudit = RemoteAudit(self._http, tenant)
        self.writer_leases: RemoteLeases = RemoteLeases(self._http, tenant)
        self.archive: RemoteArchive = RemoteArchive(self._http, whose)
        self.feeds: RemoteFeeds = RemoteFeeds(self._http)
        self.changes: RemoteChanges = RemoteChanges(self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    # Submitting

    async def submit(self, kind: str, **fields: Any) -> Submitted:
        """Create an execution; the fields are those of NewExecution."""
        body, minted = body_of(NewExecution.from_fields({"kind": kind, **fields}), self._tenant)
        answer = answer_of(await self._http.post("/v1/executions", body), minted=minted)
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    async def submit_many(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        """Create up to 1,000 executions: an answer or an error for each, in order."""
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        for number, item in enumerate(items):
            checks.instance(f"items[{number}]", item, NewExecution)
        made = [body_of(item, self._tenant) for item in items]
        try:
            body = {"items": [body for body, _ in made]}
            reply = await self._http.post("/v1/executions:batch", body)
        except HoldfastError as error:
            return [error] * len(items)
        return [
            answer_of(view, minted=minted)
            for view, (_, minted) in zip(reply["items"], made, strict=True)
        ]

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
        """Open a claimer for one worker; the key decides whose work it gets."""
        if tenant is not None:
            raise TaskError("over HTTP the API key decides whose work is claimed")
        yield RemoteClaimer(
            self._http,
            worker=checks.name("worker", worker),
            lanes=checks.names("lanes", lanes, bounds.LANES, least=1),
            capabilities=checks.names("capabilities", capabilities, bounds.CAPABILITIES),
            kinds=checks.kinds("kinds", kinds),
        )

    def beats(self, *, timeout_s: float) -> RemoteBeats:
        """Open a blocking connection for heartbeats."""
        return RemoteBeats(self._http, int(timeout_s * 1000))

    async def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int = DEFAULT_LEASE_MS
    ) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""
        reply = await self._http.post("/v1/leases:renew", renewal_body(held, lease_ms))
        return [renewed(item) for item in reply["items"]]

    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes = b"null",
        *,
        content_type: str | None = None,
    ) -> None:
        """End an execution with its result; safe to repeat."""
        checks.payload("result", result)
        if content_type is not None:
            checks.text("content_type", content_type, bounds.CONTENT_TYPE_CHARS)
        body = {"content_type": content_type, **payloads.fields("result", result)}
        await self._hold(execution_id, lease, "complete", body)

    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        """End an attempt; returns the state and when it is tried again. Safe to repeat."""
        failure.to_json()
        error = msgspec.to_builtins(failure)
        reply = await self._hold(execution_id, lease, "fail", {"error": error})
        retry_at = reply.get("retry_at")
        return State(reply["state"]), None if retry_at is None else decode.moment(retry_at)

    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        """Give the lease back and go on with the same attempt later; safe to repeat."""
        checks.integer("delay_ms", delay_ms, 0, bounds.DURATION_MS)
        reply = await self._hold(execution_id, lease, "delay", {"delay_ms": delay_ms})
        return State(reply["state"]), decode.moment(reply["run_at"])

    async def progress(
        self, execution_id: str, lease: Lease, pct: float, message: str = ""
    ) -> None:
        """Record how far the holder is."""
        checks.number("pct", pct, 0, 100)
        checks.text("message", message, bounds.PROGRESS_CHARS)
        await self._hold(execution_id, lease, "progress", {"pct": pct, "message": message})

    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        """Record a step; returns its recorded result, which never changes."""
        checks.text("step", name, bounds.STEP_NAME_CHARS, empty=False)
        checks.payload("result", result)
        body = {"lease": lease_body(lease), "name": name, **payloads.fields("result", result)}
        where = path("executions", execution_id, "steps")
        response = await self._http.send("POST", where, body=body)
        return decode.recorded(response.content)

    async def _hold(
        self, execution_id: str, lease: Lease, verb: str, body: Mapping[str, Any]
    ) -> Any:
        """Do what the holder of a lease may do."""
        checks.execution_id("id", execution_id)
        where = path("executions", execution_id, verb)
        return await self._http.post(where, {"lease": lease_body(lease), **body})

    # Operating

    async def cancel(self, execution_id: str, reason: str = "") -> None:
        """Cancel an execution that has not ended; a holder learns it at its next call."""
        try:
            await self._operate(execution_id, "cancel", {"reason": reason})
        except AlreadyTerminal as error:
            if not (error.context.get("repeated") and error.context.get("state") == "cancelled"):
                raise

    async def replay(
        self,
        execution_id: str,
        *,
        keep_steps: bool = False,
        from_step: str | None = None,
        reason: str = "",
    ) -> State:
        """Run a terminal execution again, from its start or from a step."""
        body = {"keep_steps": keep_steps, "from_step": from_step, "reason": reason}
        reply = await self._operate(execution_id, "replay", body, once=True)
        return State(reply["state"])

    async def revoke_lease(self, execution_id: str, reason: str = "") -> None:
        """Take the lease from its holder; the execution is ready again at once."""
        await self._operate(execution_id, "revoke-lease", {"reason": reason}, once=True)

    async def prioritize(self, execution_id: str, priority: int) -> int:
        """Change the priority; returns the previous one."""
        where = path("executions", checks.execution_id("id", execution_id), "priority")
        reply = await self._http.put(where, {"priority": priority})
        return int(reply["previous"])

    async def _operate(
        self, execution_id: str, verb: str, body: Mapping[str, Any], *, once: bool = False
    ) -> Any:
        where = path("executions", checks.execution_id("id", execution_id), verb)
        return await self._http.post(where, body, once=once)

    # Asking

    async def owner(self, execution_id: str) -> str:
        """Return the tenant that it belongs to."""
        return (await self.describe(execution_id)).tenant

    async def describe(self, execution_id: str) -> Execution:
        """Return what is known about an execution."""
        return decode.execution(await self._http.get(_about(execution_id)))

    async def input(self, execution_id: str) -> bytes:
        """Return the input as it was submitted."""
        return (await self._http.send("GET", _about(execution_id, "input"))).content

    async def history(self, execution_id: str) -> list[Event]:
        """Return what happened to it, oldest first."""
        return [
            decode.event(item) for item in await self._http.items(_about(execution_id, "history"))
        ]

    async def attempts(self, execution_id: str) -> list[Attempt]:
        """Return its attempts, oldest first."""
        found = await self._http.items(_about(execution_id, "attempts"))
        return msgspec.convert(found, list[Attempt])

    async def steps(self, execution_id: str) -> list[Step]:
        """Return its journal in the order of recording."""
        pages = self._http.pages(_about(execution_id, "steps"))
        return [step async for page in pages for step in decode.steps(page)]

    async def outcome(self, execution_id: str) -> Outcome | None:
        """Return how it ended, or None."""
        return await self._outcome(execution_id, wait_ms=0)

    async def _outcome(self, execution_id: str, *, wait_ms: int) -> Outcome | None:
        where = _about(execution_id, "result")
        try:
            response = await self._http.send(
                "GET", where, query={"wait_ms": wait_ms or None}, wait_s=wait_ms / 1000
            )
        except ResultNotReady as error:
            if "state" not in error.context:
                return None
            return Outcome(
                id=ExecutionId(execution_id),
                state=State(error.context["state"]),
                result=None,
                content_type=JSON_CONTENT_TYPE,
                error=error.context.get("error"),
                reason=error.context.get("reason"),
            )
        return Outcome(
            id=ExecutionId(execution_id),
            state=State.COMPLETED,
            result=response.content,
            content_type=response.content_type or JSON_CONTENT_TYPE,
            error=None,
            reason=None,
        )

    async def wait(self, execution_id: str, *, timeout_s: float | None = None) -> Outcome:
        """Wait for its end; raises ResultNotReady when the time is over."""
        if timeout_s is not None:
            checks.number("timeout_s", timeout_s, 0, bounds.DURATION_MS / 1000)
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else loop.time() + timeout_s
        while True:
            left_ms = _WAIT_MS if deadline is None else int((deadline - loop.time()) * 1000)
            wait_ms = max(0, min(_WAIT_MS, left_ms))
            found = await self._outcome(execution_id, wait_ms=wait_ms)
            if found is not None:
                return found
            if deadline is not None and loop.time() >= deadline:
                message = f"execution {execution_id} has not ended within {timeout_s} s"
                raise ResultNotReady(message, id=execution_id)

    async def export(self, execution_id: str) -> Exported:
        """Return everything of an execution that has ended; raises NotTerminal."""
        response = await self._http.send("GET", _about(execution_id, "export"))
        return exports.from_json(response.content)

    async def list(
        self, wanted: Filter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        """Return a page of executions, newest first; an operator key sees all tenants."""
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        wanted = Filter() if wanted is None else checks.instance("wanted", wanted, Filter)
        whose = self._tenant or EVERY_TENANT
        return await page_of(
            self._http, "/v1/executions", wanted, whose=whose, limit=limit, cursor=cursor
        )

    async def count(self, tenant: str | None = None) -> Sequence[Count]:
        """Return exact counts by tenant, lane, kind and state."""
        reply = await self._http.get("/v1/counts", tenant=tenant or self._tenant or EVERY_TENANT)
        return msgspec.convert(reply["items"], list[Count])

    async def pulse(self) -> Pulse:
        """Return how the store is doing: waiting times, late timers, incidents."""
        reply = await self._http.get("/v1/pulse")
        return Pulse(
            late_s=reply["late_ms"] / 1000,
            waiting_s={lane: ms / 1000 for lane, ms in reply["waiting_ms"].items()},
            incidents=reply["incidents"],
        )

    async def lane_views(self, *, tenant: str | None = None) -> Sequence[LaneView]:
        """Return what is known of each lane; the key decides whose executions are counted."""
        del tenant
        return msgspec.convert(await self._http.items("/v1/lanes"), list[LaneView])

    async def tasks(self, *, tenant: str | None = None) -> dict[str, dict[str, Any]]:
        """Return what workers published of their tasks: those of all tenants and of this one."""
        # The tenant of the key needs not be named.
        whose = None if tenant == "default" else tenant
        reply = await self._http.get("/v1/tasks", tenant=whose or self._tenant)
        return {item.pop("name"): item for item in reply["items"]}

    async def publish_tasks(
        self, described: Mapping[str, Mapping[str, Any]], *, tenant: str | None = None
    ) -> None:
        """Publish descriptions of tasks; those of the same name are replaced."""
        del tenant
        await self._http.post("/v1/tasks", described)

    async def ping(self) -> None:
        """Ask the server for a sign of life."""
        await self._http.send("GET", "/readyz")

    async def explain(self, execution_id: str) -> Explanation:
        """Say why it is not running."""
        return decode.explanation(await self._http.get(_about(execution_id, "explain")))


def _about(execution_id: str, *rest: str) -> str:
    return path("executions", checks.execution_id("id", execution_id), *rest)
