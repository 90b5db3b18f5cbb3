"""Rules: limits that apply to new executions by tenant, lane, kind or tag."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from holdfast.engine.rules import Rules
from holdfast.errors import NotFound
from holdfast.model import bounds, names
from holdfast.model.api_keys import Role
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.quotas import Rule, RuleSubject
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.views.fields import Body, View

routes: Routes = Routes("rules", "Rules that apply budgets and quotas to new executions.")


class RuleBody(Body):
    """The executions that a rule applies to."""

    subject: RuleSubject
    #: The tenant, lane or kind; a tag as NAME=VALUE. A quota also accepts NAME alone, which
    #: counts each value separately.
    value: Annotated[
        str, Meta(min_length=1, max_length=bounds.NAME_CHARS + 1 + bounds.TAG_VALUE_CHARS)
    ]


class RuleView(View):
    """A rule."""

    #: budget or quota.
    limit: str
    #: NAME if the limit belongs to the tenant `default`, else TENANT/NAME.
    id: str
    subject: str
    value: str

    @classmethod
    def of(cls, rule: Rule) -> RuleView:
        """Show a rule."""
        return cls(limit=rule.limit, id=rule.id, subject=rule.subject, value=rule.value)


class RulePage(View):
    """All rules."""

    items: list[RuleView]
    next_cursor: str | None = None


@routes.get("/v1/rules", scope=Scope.SYSTEM)
async def list_rules(call: Call) -> RulePage:
    """List all rules: those of budgets, then those of quotas."""
    rules = [*await call.engine.budgets.rules.list(), *await call.engine.quotas.rules.list()]
    return RulePage(items=[RuleView.of(rule) for rule in rules])


def add_rules(table: Routes, noun: Literal["budgets", "quotas"], missing: type[NotFound]) -> None:
    """Add the rule routes of a noun. Rules affect all tenants, so they need an operator key."""
    example = {"subject": "lane", "value": "nightly"}

    def rules_of(call: Call) -> Rules:
        return call.engine.budgets.rules if noun == "budgets" else call.engine.quotas.rules

    @table.post(
        f"/v1/{noun}/{{id}}/attach",
        role=Role.OPERATOR,
        scope=Scope.SYSTEM,
        errors=(missing,),
        example=example,
        takes_key=True,
    )
    async def attach(call: Call, id: str, body: RuleBody, query: TenantQuery) -> RuleView:
        """Apply it to new executions of a tenant, lane, kind or tag."""
        stored = names.stored(query.tenant or DEFAULT_TENANT, id)
        return RuleView.of(await rules_of(call).attach(stored, **{body.subject: body.value}))

    @table.post(
        f"/v1/{noun}/{{id}}/detach",
        role=Role.OPERATOR,
        scope=Scope.SYSTEM,
        # A rule can be removed even if its quota no longer exists.
        errors=(missing,) if noun == "budgets" else (),
        example=example,
        takes_key=True,
    )
    async def detach(call: Call, id: str, body: RuleBody, query: TenantQuery) -> RuleView:
        """Remove a rule. Executions submitted under it keep the limit."""
        stored = names.stored(query.tenant or DEFAULT_TENANT, id)
        return RuleView.of(await rules_of(call).detach(stored, **{body.subject: body.value}))
