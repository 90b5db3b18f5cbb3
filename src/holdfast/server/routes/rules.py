"""Rules: limits that new executions get by their tenant, lane, kind or tag."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from holdfast import errors
from holdfast.engine.budgets import Budgets
from holdfast.engine.quotas import Quotas
from holdfast.model import limits
from holdfast.model.access import Role
from holdfast.model.quotas import Rule, RuleSubject
from holdfast.server.call import Call
from holdfast.server.declare import Routes, Scope
from holdfast.server.fields import Body, Name, View

routes: Routes = Routes("rules", "Which new executions become subject to which budget or quota.")

_ERRORS = (errors.BudgetNotFound, errors.QuotaNotFound)
_EXAMPLE = {"limit": "quota", "id": "mailers", "subject": "kind", "value": "mail.send"}


class RuleBody(Body):
    """A rule."""

    limit: Literal["budget", "quota"]
    #: Of the budget or quota.
    id: Name
    subject: RuleSubject
    #: The tenant, lane or kind; a tag as NAME=VALUE, for a quota also as NAME: each value apart.
    value: Annotated[
        str, Meta(min_length=1, max_length=limits.NAME_CHARS + 1 + limits.TAG_VALUE_CHARS)
    ]


class RuleView(View):
    """A rule."""

    limit: str
    id: str
    subject: str
    value: str

    @classmethod
    def of(cls, one: Rule) -> RuleView:
        """Show a rule."""
        return cls(limit=one.limit, id=one.id, subject=one.subject, value=one.value)


class RulePage(View):
    """All rules."""

    items: list[RuleView]
    next_cursor: str | None = None


@routes.get("/v1/rules", scope=Scope.SYSTEM)
async def list_rules(call: Call) -> RulePage:
    """List all rules: those of budgets, then those of quotas."""
    found = [*await call.engine.budgets.rules.list(), *await call.engine.quotas.rules.list()]
    return RulePage(items=[RuleView.of(rule) for rule in found])


@routes.post(
    "/v1/rules/attach", role=Role.OPERATOR, scope=Scope.SYSTEM, errors=_ERRORS, example=_EXAMPLE
)
async def attach(call: Call, body: RuleBody) -> RuleView:
    """Have new executions of a tenant, lane, kind or tag subject to a budget or quota."""
    noun = _noun(call, body)
    await noun.get(body.id)
    return RuleView.of(await noun.rules.attach(body.id, **{body.subject: body.value}))


@routes.post(
    "/v1/rules/detach", role=Role.OPERATOR, scope=Scope.SYSTEM, errors=_ERRORS, example=_EXAMPLE
)
async def detach(call: Call, body: RuleBody) -> RuleView:
    """Take a rule back; executions submitted under it keep the limit."""
    rules = _noun(call, body).rules
    return RuleView.of(await rules.detach(body.id, **{body.subject: body.value}))


def _noun(call: Call, body: RuleBody) -> Budgets | Quotas:
    return call.engine.budgets if body.limit == "budget" else call.engine.quotas
