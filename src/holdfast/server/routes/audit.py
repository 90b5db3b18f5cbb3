"""The audit log."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.fields import Cursor, Key, Moment, Query, Tenants, View
from holdfast.server.views.times import rfc3339

routes: Routes = Routes("audit", "Who did what, when, from where, and what came of it.")


class AuditQuery(Query):
    """Which entries."""

    tenant: Tenants | None = None
    #: Only calls with the API key of this id.
    key: Key | None = None
    since: Moment | None = None
    limit: Annotated[int, Meta(ge=1, le=bounds.AUDIT_ITEMS)] = 50
    cursor: Cursor | None = None


class AuditView(View):
    """One call."""

    id: str
    at: str
    #: The id of the API key; null when none was needed.
    key: str | None
    tenant: str | None
    address: str
    method: str
    route: str
    target: dict[str, str]
    request: str
    status: int
    code: str | None


class AuditPage(View):
    """Entries, newest first."""

    items: list[AuditView]
    next_cursor: str | None


@routes.get("/v1/audit", role=Role.ADMIN, query_example={"tenant": "default", "limit": "10"})
async def list_audit(call: Call, query: AuditQuery) -> AuditPage:
    """Read the audit log, newest first.

    It has every call that changes something, also those that were refused, and every reading of
    a token. A tenant's admin sees its own.
    """
    tenant = call.tenant if query.tenant or call.identity.tenant else None
    entries, cursor = await call.engine.audit.list(
        tenant=tenant, key=query.key, since=query.since, limit=query.limit, cursor=query.cursor
    )
    items = [
        AuditView(
            id=str(one.id),
            at=rfc3339(one.at) if one.at else "",
            key=one.key,
            tenant=one.tenant,
            address=one.address,
            method=one.method,
            route=one.route,
            target=one.target,
            request=one.request,
            status=one.status,
            code=one.code,
        )
        for one in entries
    ]
    return AuditPage(items=items, next_cursor=cursor)
