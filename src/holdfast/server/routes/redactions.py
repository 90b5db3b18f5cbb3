"""Redactions: parts of payloads that callers do not see."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.sight import EVERY_KIND, RedactionRule
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Body, Name, Query, Tenants, View

routes: Routes = Routes("redactions", "Parts of payloads that callers do not see.")

_EXAMPLE = {"path": "**.card.number", "kind": "payments.*"}


class RuleBody(Body):
    """A part of payloads."""

    path: Annotated[str, Meta(min_length=1, max_length=bounds.REDACTION_PATH_CHARS)]
    kind: Annotated[str, Meta(min_length=1, max_length=bounds.NAME_CHARS)] = EVERY_KIND
    #: The caller's tenant if absent; for an operator key, all tenants.
    tenant: Name | None = None


class RedactionView(ModelView, model=RedactionRule):
    """A part of payloads that callers do not see."""


class RedactionPage(View):
    """The rules, in order."""

    items: list[RedactionView]
    next_cursor: str | None = None


class ListQuery(Query):
    """Whose rules to list."""

    tenant: Tenants | None = None


def _tenant(call: Call, body: RuleBody) -> str | None:
    return body.tenant if call.identity.tenant is None else call.tenant


@routes.get("/v1/redactions", role=Role.ADMIN)
async def list_rules(call: Call, query: ListQuery) -> RedactionPage:  # noqa: ARG001 - the tenant
    """List the rules that hold for a tenant; with `tenant=*`, all that you may see."""
    rules = await call.engine.redactions.list(tenant=call.tenant)
    return RedactionPage(items=[RedactionView.of(rule) for rule in rules])


@routes.post("/v1/redactions", role=Role.ADMIN, example=_EXAMPLE)
async def add(call: Call, body: RuleBody) -> RedactionView:
    """Redact a part of payloads in answers, for keys that see payloads `redacted`.

    A path has names of fields with dots between them; `*` is any field or item, and `**` any
    depth. The kind is the name of a task, or the start of names with a `*` after it. A change
    reaches every server within 5 s. Repeating the call changes nothing.
    """
    tenant = _tenant(call, body)
    rule = await call.engine.redactions.add(body.path, kind=body.kind, tenant=tenant)
    call.services.veils.forget()
    return RedactionView.of(rule)


class RemovedView(View):
    """The rule is gone."""

    removed: bool = True


@routes.post("/v1/redactions:remove", role=Role.ADMIN, example=_EXAMPLE)
async def remove(call: Call, body: RuleBody) -> RemovedView:
    """Remove a rule. Repeating the call changes nothing."""
    tenant = _tenant(call, body)
    await call.engine.redactions.remove(body.path, kind=body.kind, tenant=tenant)
    call.services.veils.forget()
    return RemovedView()
