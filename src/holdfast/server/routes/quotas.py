"""Quotas: limits on how many executions run at once or start within a window."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.quotas import Quota
from holdfast.server.auth import attachments
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.routes.rules import add_rules
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import (
    Body,
    Cursor,
    Name,
    PageLimit,
    PositiveMs,
    Query,
    Tenants,
    View,
)

routes: Routes = Routes(
    "quotas",
    "Limits on how many executions run at once or start within a window.",
    names_tenant=TenantQuery,
)

Cap = Annotated[int, Meta(ge=0, le=bounds.QUOTA)]


class CapsBody(Body):
    """At least one limit. `max_per_window` and `window_ms` belong together."""

    #: Starts are counted over the last this many ms.
    window_ms: PositiveMs | None = None
    max_per_window: Cap | None = None
    max_concurrent: Cap | None = None


class QuotaBody(CapsBody):
    """A quota to create."""

    #: Generated if absent.
    id: Name | None = None
    tenant: Name | None = None


class QuotaView(ModelView, model=Quota):
    """A quota."""


@routes.post(
    "/v1/quotas",
    role=Role.OPERATOR,
    status=(201, 200),
    errors=(errors.QuotaConflict, errors.QuotaNotFound, errors.StoreFull),
    example={"window_ms": 60_000, "max_per_window": 100, "max_concurrent": 8},
)
async def create(call: Call, body: QuotaBody) -> Answer[QuotaView]:
    """Create a quota. Repeating the call with the same id and content returns the existing one."""
    quota, created = await call.engine.quotas.create(
        body.id,
        tenant=str(call.tenant),
        window_ms=body.window_ms,
        max_per_window=body.max_per_window,
        max_concurrent=body.max_concurrent,
    )
    return Answer(QuotaView.of(quota), 201 if created else 200)


class ListQuery(Query):
    """Whose quotas to list."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


class QuotaPage(View):
    """A page of quotas, by tenant and id."""

    items: list[QuotaView]
    next_cursor: str | None


@routes.get("/v1/quotas")
async def list_quotas(call: Call, query: ListQuery) -> QuotaPage:
    """List quotas. An operator key lists all tenants with `tenant=*`."""
    quotas, more = await call.engine.quotas.list(
        call.tenant, limit=query.limit, cursor=query.cursor
    )
    return QuotaPage(items=[QuotaView.of(quota) for quota in quotas], next_cursor=more)


class ValueQuery(TenantQuery):
    """One value of the tag of its rule; all values if absent."""

    value: Annotated[str, Meta(min_length=1, max_length=bounds.TAG_VALUE_CHARS)] | None = None


@routes.get("/v1/quotas/{id}", errors=(errors.QuotaNotFound,))
async def describe(call: Call, id: str, query: ValueQuery) -> QuotaView:
    """Read a quota and what counts against it."""
    quota = await call.engine.quotas.get(
        attachments.quota(call, id), value=query.value, tenant=str(call.tenant)
    )
    return QuotaView.of(quota)


@routes.put(
    "/v1/quotas/{id}",
    role=Role.OPERATOR,
    errors=(errors.QuotaNotFound,),
    example={"max_concurrent": 16},
)
async def replace(
    call: Call,
    id: str,
    body: CapsBody,
) -> QuotaView:
    """Replace the limits of a quota. Waiting executions start if there is room now."""
    quota = await call.engine.quotas.set(
        attachments.quota(call, id),
        tenant=str(call.tenant),
        window_ms=body.window_ms,
        max_per_window=body.max_per_window,
        max_concurrent=body.max_concurrent,
    )
    return QuotaView.of(quota)


@routes.delete(
    "/v1/quotas/{id}",
    role=Role.OPERATOR,
    status=204,
    errors=(errors.QuotaNotFound,),
    takes_key=True,
)
async def delete(call: Call, id: str) -> None:
    """Remove a quota and its rules. Executions that wait for it continue."""
    await call.engine.quotas.delete(attachments.quota(call, id), tenant=str(call.tenant))


add_rules(routes, "quotas", errors.QuotaNotFound)
