"""Executions over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.api import Claimer
from holdfast.api.executions import DEFAULT_LEASE_MS
from holdfast.client import decode, live
from holdfast.client.beats import RemoteBeats, lease_body, renewal_body, renewed
from holdfast.client.claimer import RemoteClaimer
from holdfast.client.completions import Completions, completion_body
from holdfast.client.execution_bodies import answer_of, body_of, resubmission_body, submitted_of
from holdfast.client.execution_pages import page_of
from holdfast.client.http import EVERY_TENANT, Http, path
from holdfast.client.streams import frame_bodies
from holdfast.errors import AlreadyTerminal, HoldfastError, ResultNotReady, TaskError
from holdfast.model import bounds, calls, checks, exports, payloads
from holdfast.model.calls import Completion, Replay
from holdfast.model.causes import Cause
from holdfast.model.claims import Claimant
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
from holdfast.model.frames import NewFrame, check_last
from holdfast.model.inboxes import ExecutionSignal, Receipt
from holdfast.model.listing import Count, Listing, Page
from holdfast.model.resubmissions import Resubmission
from holdfast.model.states import State
from holdfast.model.views import View, check_view
from holdfast.model.waitpoints import Effect, Signal

#: The longest poll for a result; the next follows at once.
_WAIT_MS = 20_000


@final
class RemoteExecutions(api.Executions):
    """Operations on executions."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: The tenant that an operator key acts for.
        self._tenant = http.tenant
        self._completions = Completions(http)

    # Submitting

    @override
    async def submit(self, /, kind: str, **fields: Any) -> Submitted:
        body, minted = body_of(NewExecution.from_fields({"kind": kind, **fields}), self._tenant)
        answer = answer_of(await self._http.post("/v1/executions", body), minted=minted)
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    @override
    async def resubmit(self, execution_id: str, changes: Resubmission | None = None) -> Submitted:
        changes = checks.instance("changes", changes or Resubmission(), Resubmission)
        body, minted = resubmission_body(changes)
        view = await self._http.post(_about(execution_id, "resubmit"), body)
        return submitted_of(view, minted=minted)

    @override
    async def submit_many(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        calls.check_items(items)
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

    @override
    @contextlib.asynccontextmanager
    async def _claimer(self, claimant: Claimant) -> AsyncIterator[Claimer]:
        if claimant.tenant is not None:
            raise TaskError("over HTTP, the API key decides whose executions are claimed")
        yield RemoteClaimer(self._http, claimant)

    @override
    def beats(self, *, timeout_s: float) -> RemoteBeats:
        return RemoteBeats(self._http, int(timeout_s * 1000))

    @override
    async def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int = DEFAULT_LEASE_MS
    ) -> list[datetime | HoldfastError]:
        calls.check_renewal(held, lease_ms)
        reply = await self._http.post("/v1/leases:renew", renewal_body(held, lease_ms))
        return [renewed(item) for item in reply["items"]]

    @override
    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes = b"null",
        *,
        content_type: str | None = None,
        frames: Sequence[NewFrame] = (),
    ) -> None:
        calls.check_result(result, content_type)
        calls.check_holder(execution_id, lease)
        if not frames:
            await self._completions.complete(Completion(execution_id, lease, result, content_type))
            return
        body = completion_body(result, content_type)
        body["frames"] = frame_bodies(check_last(frames))
        await self._hold(execution_id, lease, "complete", body)

    @override
    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        calls.check_failure(failure)
        failure.to_json()
        error = msgspec.to_builtins(failure)
        reply = await self._hold(execution_id, lease, "fail", {"error": error})
        retry_at = reply.get("retry_at")
        return State(reply["state"]), None if retry_at is None else decode.moment(retry_at)

    @override
    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        checks.integer("delay_ms", delay_ms, 0, bounds.DURATION_MS)
        reply = await self._hold(execution_id, lease, "delay", {"delay_ms": delay_ms})
        return State(reply["state"]), decode.moment(reply["run_at"])

    @override
    async def progress(
        self, execution_id: str, lease: Lease, pct: float, message: str = ""
    ) -> None:
        calls.check_progress(pct, message)
        await self._hold(execution_id, lease, "progress", {"pct": pct, "message": message})

    @override
    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        calls.check_holder(execution_id, lease)
        calls.check_step(name, result)
        body = {"lease": lease_body(lease), "name": name, **payloads.fields("result", result)}
        where = path("executions", execution_id, "steps")
        response = await self._http.send("POST", where, body=body)
        return decode.recorded(response.content)

    @override
    async def continue_as(
        self, execution_id: str, lease: Lease, new_input: bytes, *, continued: int
    ) -> None:
        checks.payload("input", new_input)
        checks.integer("continued", continued, 0, bounds.AMOUNT)
        body = {"continued": continued, **payloads.fields("input", new_input)}
        await self._hold(execution_id, lease, "continue", body)

    async def _hold(
        self, execution_id: str, lease: Lease, verb: str, body: Mapping[str, Any]
    ) -> Any:
        """Send a call of a lease holder."""
        calls.check_holder(execution_id, lease)
        where = path("executions", execution_id, verb)
        return await self._http.post(where, {"lease": lease_body(lease), **body})

    # Operating

    @override
    async def cancel(self, execution_id: str, reason: str = "") -> None:
        calls.check_reasoned(execution_id, reason)
        try:
            await self._operate(execution_id, "cancel", {"reason": reason})
        except AlreadyTerminal as error:
            if not (error.context.get("repeated") and error.context.get("state") == "cancelled"):
                raise

    @override
    async def _replay(self, replay: Replay) -> State:
        body = {
            "keep_steps": replay.keep_steps,
            "from_step": replay.from_step,
            "reason": replay.reason,
        }
        reply = await self._operate(replay.execution_id, "replay", body, once=True)
        return State(reply["state"])

    @override
    async def revoke_lease(self, execution_id: str, reason: str = "") -> None:
        calls.check_reasoned(execution_id, reason)
        await self._operate(execution_id, "revoke-lease", {"reason": reason}, once=True)

    @override
    async def prioritize(self, execution_id: str, priority: int) -> int:
        calls.check_priority(execution_id, priority)
        where = path("executions", execution_id, "priority")
        reply = await self._http.put(where, {"priority": priority})
        return int(reply["previous"])

    async def _operate(
        self, execution_id: str, verb: str, body: Mapping[str, Any], *, once: bool = False
    ) -> Any:
        where = path("executions", execution_id, verb)
        return await self._http.post(where, body, once=once)

    # Signals and views

    @override
    async def _signal(self, item: ExecutionSignal) -> Effect:
        return await live.send(self._http, item)

    @override
    async def _receive(self, receipt: Receipt, timeout_s: float) -> Signal | None:
        return await live.receive(self._http, receipt, timeout_s=timeout_s)

    @override
    async def _await_signal(self, receipt: Receipt, until: datetime | None) -> Signal | None:
        return await live.receive(self._http, receipt, release=True, until=until)

    @override
    async def set_view(self, execution_id: str, lease: Lease, data: bytes) -> int:
        calls.check_holder(execution_id, lease)
        body = {"lease": lease_body(lease), "view": msgspec.Raw(check_view(data))}
        return int((await self._http.put(_about(execution_id, "view"), body))["version"])

    @override
    async def view(self, execution_id: str, *, after: int = 0, timeout_s: float = 0.0) -> View:
        calls.check_view_request(execution_id, after, timeout_s)
        return await live.view(self._http, execution_id, after, timeout_s)

    # Reading

    @override
    async def owner(self, execution_id: str) -> str:
        return (await self.describe(execution_id)).tenant

    @override
    async def describe(self, execution_id: str) -> Execution:
        return decode.execution(await self._http.get(_about(execution_id)))

    @override
    async def input(self, execution_id: str) -> bytes:
        return (await self._http.send("GET", _about(execution_id, "input"))).content

    @override
    async def history(self, execution_id: str) -> list[Event]:
        return [
            decode.event(item) for item in await self._http.items(_about(execution_id, "history"))
        ]

    @override
    async def attempts(self, execution_id: str) -> list[Attempt]:
        reply = await self._http.items(_about(execution_id, "attempts"))
        return msgspec.convert(reply, list[Attempt])

    @override
    async def steps(self, execution_id: str) -> list[Step]:
        pages = self._http.pages(_about(execution_id, "steps"))
        return [step async for page in pages for step in decode.steps(page)]

    @override
    async def outcome(self, execution_id: str) -> Outcome | None:
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

    @override
    async def wait(self, execution_id: str, *, timeout_s: float | None = None) -> Outcome:
        calls.check_patience(timeout_s)
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else loop.time() + timeout_s
        while True:
            left_ms = _WAIT_MS if deadline is None else int((deadline - loop.time()) * 1000)
            wait_ms = max(0, min(_WAIT_MS, left_ms))
            found = await self._outcome(execution_id, wait_ms=wait_ms)
            if found is not None:
                return found
            if deadline is not None and loop.time() >= deadline:
                message = f"execution {execution_id} did not end within {timeout_s} s"
                raise ResultNotReady(message, id=execution_id)

    @override
    async def export(self, execution_id: str) -> Exported:
        response = await self._http.send("GET", _about(execution_id, "export"))
        return exports.from_json(response.content)

    @override
    async def _list(self, listing: Listing) -> Page:
        wanted = listing.wanted
        more = {"error_type": wanted.error_type, "order": "oldest" if wanted.oldest else None}
        asked = {
            "total": "true" if listing.total else None,
            "why": "true" if listing.whys else None,
        }
        page = {"limit": listing.limit, "cursor": listing.cursor, **more, **asked}
        whose = self._tenant or EVERY_TENANT
        return await page_of(self._http, "/v1/executions", wanted, whose=whose, **page)

    @override
    async def causes(
        self,
        *,
        tenant: str | None = None,
        kind: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Sequence[Cause]:
        calls.check_causes(tenant, kind, since, until)
        reply = await self._http.get(
            "/v1/executions:causes",
            tenant=tenant or self._tenant or EVERY_TENANT,
            kind=kind,
            since=since and since.isoformat(),
            until=until and until.isoformat(),
        )
        return [msgspec.convert(view, Cause) for view in reply["items"]]

    @override
    async def count(self, tenant: str | None = None) -> Sequence[Count]:
        if tenant is not None:
            checks.name("tenant", tenant)
        reply = await self._http.get("/v1/counts", tenant=tenant or self._tenant or EVERY_TENANT)
        return msgspec.convert(reply["items"], list[Count])

    @override
    async def explain(self, execution_id: str) -> Explanation:
        return decode.explanation(await self._http.get(_about(execution_id, "explain")))


def _about(execution_id: str, *rest: str) -> str:
    return path("executions", checks.execution_id("id", execution_id), *rest)
