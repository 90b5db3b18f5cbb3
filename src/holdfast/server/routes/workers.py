"""Workers: register, send heartbeats, claim, drain."""

from __future__ import annotations

import contextlib
from typing import Annotated

from msgspec import Meta

from holdfast import errors
from holdfast.api import Claimer
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.executions import Claim
from holdfast.server.draining import give_back
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.executions import ClaimsView, ClaimView
from holdfast.server.views.fields import (
    Body,
    Capabilities,
    Kinds,
    Lanes,
    LeaseMs,
    Name,
    Query,
    Slots,
    View,
    WaitMs,
)
from holdfast.server.views.paging import PageQuery
from holdfast.server.views.times import rfc3339
from holdfast.server.views.workers import WorkerView

routes: Routes = Routes("workers", "The registry of workers, and claims of work.")


class BeatBody(Body):
    """A worker's description of itself."""

    #: The pool that the worker belongs to.
    worker: Name
    lanes: Lanes
    capabilities: Capabilities = ()
    #: The tasks that it can run, for `explain`; every kind if absent.
    kinds: Kinds | None = None
    slots: Slots = 1
    #: Slots in use.
    busy: Annotated[int, Meta(ge=0, le=bounds.SLOTS)] = 0
    #: The worker counts as gone after this long without a heartbeat.
    ttl_ms: LeaseMs = 30_000


class BeatView(View):
    """The answer to a heartbeat."""

    instance: str
    expires_at: str
    #: Finish your executions and claim no more.
    draining: bool


@routes.put(
    "/v1/workers/{instance}",
    role=Role.WORKER,
    status=(200, 201),
    errors=(errors.WorkerNotFound,),
    example={"worker": "mailer", "lanes": ["default"], "capabilities": ["smtp"], "slots": 4},
)
async def register(call: Call, instance: str, body: BeatBody) -> Answer[BeatView]:
    """Register a worker, or send its heartbeat.

    A worker with a key of one tenant serves only that tenant.
    """
    answer = await call.engine.workers.register(
        instance,
        worker=body.worker,
        lanes=body.lanes,
        capabilities=body.capabilities,
        slots=body.slots,
        busy=body.busy,
        ttl_ms=body.ttl_ms,
        tenant=call.identity.tenant,
        kinds=body.kinds,
    )
    call.audited = answer.is_new
    view = BeatView(
        instance=instance, expires_at=rfc3339(answer.expires_at), draining=answer.draining
    )
    return Answer(view, 201 if answer.is_new else 200)


class WorkerPage(View):
    """The live workers."""

    items: list[WorkerView]
    next_cursor: str | None = None


@routes.get("/v1/workers")
async def list_workers(call: Call, query: PageQuery) -> WorkerPage:
    """List the live workers. A key of one tenant lists that tenant's workers."""
    own = call.identity.tenant
    seen = [worker for worker in await call.engine.workers.list() if own in {None, worker.tenant}]
    page, more = query.part(seen, lambda worker: worker.instance)
    return WorkerPage(items=[WorkerView.of(worker) for worker in page], next_cursor=more)


class OwnQuery(Query):
    """Which workers the call may change."""

    #: Only a worker that serves just this tenant; any that the key may see if absent.
    tenant: Name | None = None


class DrainingView(View):
    """A worker that was asked to drain."""

    instance: str
    draining: bool


@routes.post(
    "/v1/workers/{instance}/drain",
    role=Role.OPERATOR,
    errors=(errors.WorkerNotFound,),
)
async def drain(call: Call, instance: str, query: OwnQuery) -> DrainingView:
    """Ask a worker to finish and claim no more. It learns of it at its next heartbeat or claim."""
    await call.engine.workers.drain(instance, tenant=query.tenant or call.identity.tenant)
    call.services.draining.note(instance)
    return DrainingView(instance=instance, draining=True)


@routes.delete("/v1/workers/{instance}", role=Role.WORKER, status=204, takes_key=True)
async def remove(call: Call, instance: str, query: OwnQuery) -> None:
    """Remove a worker from the registry, as a worker does itself when it stops."""
    await call.engine.workers.remove(instance, tenant=query.tenant or call.identity.tenant)


class ClaimBody(Body):
    """The executions that a worker can run."""

    lanes: Lanes
    capabilities: Capabilities = ()
    #: Only executions of these kinds; of every kind if absent.
    kinds: Kinds | None = None
    #: 0 with `again` returns only what an earlier call claimed.
    max: Annotated[int, Meta(ge=0, le=bounds.CLAIM_ITEMS)] = 1
    lease_ms: LeaseMs = 30_000
    #: How long to wait for the first execution.
    wait_ms: WaitMs = 0
    #: An id of this call. If the answer is lost, repeat the call with `again` to get it again.
    request: Name | None = None
    again: bool = False


@routes.post(
    "/v1/workers/{instance}/claim",
    role=Role.WORKER,
    errors=(errors.RateLimited,),
    example={"lanes": ["default"], "capabilities": ["smtp"], "max": 4, "lease_ms": 30000},
)
async def claim(call: Call, instance: str, body: ClaimBody) -> ClaimsView:
    """Claim executions, each with a lease that permits running it.

    A worker that names its `kinds` gets no others; those wait for a worker that runs them.
    A key of one tenant claims only that tenant's executions. An operator key claims those of all
    tenants, in proportion to their weights. A draining worker gets none, and `draining`.
    """
    claimers, tenant = call.services.claimers, call.identity.tenant
    waits = body.wait_ms or claimers.is_under_way(tenant, body.request)
    with call.waiting() if waits else contextlib.nullcontext():
        async with (
            claimers.alone(tenant, body.request),
            claimers.use(instance, body.lanes, body.capabilities, body.kinds, tenant) as claimer,
        ):
            ask = _claim_waiting if body.wait_ms else _ask
            claims, draining = await call.services.draining.claim(
                instance, tenant, lambda: ask(call, claimer, body), lambda: _held(claimer, body)
            )
    call.audited = bool(claims)
    call.services.metrics.claimed(claims, body.lease_ms)
    return ClaimsView(claims=[ClaimView.of(claim) for claim in claims], draining=draining)


async def _held(claimer: Claimer, body: ClaimBody) -> list[Claim]:
    """Return what an earlier call with the same id has claimed."""
    if not body.again:
        return []
    return await claimer.claim(0, body.lease_ms, request=body.request, again=True)


async def _ask(_call: Call, claimer: Claimer, body: ClaimBody) -> list[Claim]:
    return await claimer.claim(body.max, body.lease_ms, request=body.request, again=body.again)


async def _claim_waiting(call: Call, claimer: Claimer, body: ClaimBody) -> list[Claim]:
    async with call.until_gone() as gone:
        claims = await claimer.claim(
            body.max,
            body.lease_ms,
            body.wait_ms,
            request=body.request,
            again=body.again,
            given_up=gone,
        )
    if claims and gone.is_set() and not call.services.closing.is_set() and body.request is None:
        # The caller is gone and cannot ask for the answer again: release the claims for others.
        await give_back(call.engine, claims)
        return []
    return claims
