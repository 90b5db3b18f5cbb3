"""Webhooks: the secret for their receivers. Deliveries are executions."""

from __future__ import annotations

from holdfast.model.api_keys import Role
from holdfast.model.audit import AuditLog
from holdfast.model.names import DEFAULT_TENANT
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.fields import View

routes: Routes = Routes("webhooks", "Calls to addresses of yours.")


class SecretView(View):
    """The secret of a tenant, as the Standard Webhooks specification writes it."""

    secret: str


@routes.get("/v1/webhooks/secret", role=Role.OPERATOR, audit=AuditLog.CONTROL)
async def secret(call: Call, query: TenantQuery) -> Answer[SecretView]:  # noqa: ARG001
    """Read the secret that signs the webhooks of a tenant, for their receivers."""
    found = await call.engine.webhooks.secret(call.tenant or DEFAULT_TENANT)
    return Answer(SecretView(secret=found), 200, {"Cache-Control": "no-store"})
