"""The audit log."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.audit import AuditEntry
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Cursor, Key, Moment, Query, Tenants, View
from holdfast.server.views.times import optional

routes: Routes = Routes("audit", "Who did what, when, from where, and with what result.")


class AuditQuery(Query):
    """Which entries to read."""

    tenant: Tenants | None = None
    #: Only calls made with the API key of this id.
    key: Key | None = None
    since: Moment | None = None
    limit: Annotated[int, Meta(ge=1, le=bounds.AUDIT_ITEMS)] = 50
    cursor: Cursor | None = None


class AuditView(ModelView, model=AuditEntry):
    """One call."""

    id: str
    at: str

    @classmethod
    def of(cls, value: AuditEntry) -> AuditView:
        """Show a call."""
        return cls.copy(value, at=optional(value.at) or "")


class AuditPage(View):
    """Entries, newest first."""

    items: list[AuditView]
    next_cursor: str | None


@routes.get("/v1/audit", role=Role.ADMIN, query_example={"tenant": "default", "limit": "10"})
async def list_audit(call: Call, query: AuditQuery) -> AuditPage:
    """Read the audit log, newest first.

    The log records every call that changes something, including refused calls, and every read of
    a token. An admin of a tenant sees that tenant's entries.
    """
    tenant = call.tenant if query.tenant or call.identity.tenant else None
    entries, cursor = await call.engine.audit.list(
        tenant=tenant, key=query.key, since=query.since, limit=query.limit, cursor=query.cursor
    )
    items = [AuditView.of(entry) for entry in entries]
    return AuditPage(items=items, next_cursor=cursor)
