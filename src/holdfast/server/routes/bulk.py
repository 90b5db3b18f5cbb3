"""Bulk actions: cancel, replay, prioritize or resubmit every execution that matches a filter."""

from __future__ import annotations

from typing import Annotated, Self

from msgspec import Meta

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.bulk import DEFAULT_RATE, Bulk, BulkAction, NewBulk, Preview, Refusal
from holdfast.model.filter_words import words_of
from holdfast.model.ids import new_id
from holdfast.server.auth import shown
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.routes.executions import ErrorType, Matching, filter_of
from holdfast.server.views.derive import ModelView
from holdfast.server.views.executions import ListedView
from holdfast.server.views.fields import Body, Name, Priority, Query, Reason, Tenants, View

routes: Routes = Routes(
    "bulk", "The same action on many executions, as an execution.", names_tenant=TenantQuery
)

#: Fields of a filter that are ids.
_IDS = ("id_prefix", "graph", "parent")


class FilterBody(Matching):
    """Which executions, by the parameters of `GET /v1/executions`."""

    #: Failed with this type of error.
    error_type: ErrorType | None = None


class BulkBody(Body):
    """What to do, and with which executions."""

    action: BulkAction
    #: At least one field. Executions that are in no state for the action are left out.
    filter: FilterBody
    tenant: Name | None = None
    #: For the history of each execution.
    reason: Annotated[str, Meta(max_length=bounds.BULK_REASON_CHARS)] = ""
    #: For `prioritize`, and only there.
    priority: Priority | None = None
    #: Only count, and show the first ones.
    dry_run: bool = False
    #: The count of a dry run: if it has changed by more than a tenth, nothing starts.
    expected: Annotated[int, Meta(ge=0, le=bounds.AMOUNT)] | None = None
    #: How many executions to act on in a second, at most.
    rate: Annotated[int, Meta(ge=1, le=bounds.BULK_RATE)] = DEFAULT_RATE
    #: Makes the call safe to repeat; generated if absent.
    id: Name | None = None

    def new(self, tenant: str | None) -> NewBulk:
        """Return the bulk action."""
        return NewBulk(
            action=self.action,
            wanted=filter_of(self.filter, tenant),
            reason=self.reason,
            priority=self.priority,
            rate=self.rate,
            expected=self.expected,
            id=new_id() if self.id is None else self.id,
        )


class SelectionView(View):
    """The executions of a bulk action."""

    #: How many match.
    count: int
    #: False if at least this many match.
    exact: bool
    #: The first of them, in a dry run.
    sample: list[ListedView]
    #: The bulk action, and the execution that carries it out; null in a dry run.
    execution: str | None


class RefusalView(ModelView, model=Refusal, own=("id",)):
    """An execution that did not allow the action."""


class BulkView(ModelView, model=Bulk, hide=("wanted", "pending", "cursor", "is_last")):
    """A bulk action and its progress."""

    #: The filter, narrowed to the states that allow the action.
    filter: dict[str, str]
    refused_items: list[RefusalView]
    #: The execution that carries it out.
    execution: str
    #: How much of it is done, in percent.
    pct: float
    #: How far it is, in words.
    summary: str

    @classmethod
    def of(cls, value: Bulk) -> Self:
        """Show a bulk action."""
        words = words_of(value.wanted)
        return cls.copy(
            value,
            filter={
                name: shown.own(word) if name in _IDS else word for name, word in words.items()
            },
            refused_items=[RefusalView.of(one) for one in value.refused_items],
            execution=shown.own(value.execution),
            pct=value.pct,
            summary=value.summary,
        )


class BulkPage(View):
    """Bulk actions, newest first."""

    items: list[BulkView]
    next_cursor: str | None = None


@routes.post(
    "/v1/bulk",
    role=Role.OPERATOR,
    status=(201, 200),
    errors=(
        errors.SelectionChanged,
        errors.BulkConflict,
        errors.IdConflict,
        errors.LaneDraining,
        errors.StoreFull,
    ),
    example={
        "action": "cancel",
        "filter": {"kind": "mail.send", "state": "waiting"},
        "reason": "wrong address",
    },
)
async def start(call: Call, body: BulkBody) -> Answer[SelectionView]:
    """Cancel, replay, prioritize or resubmit every execution that matches a filter.

    The work is an execution of the kind `holdfast.bulk`: it continues after a crash, keeps to its
    rate, and `GET /v1/bulk/{id}` shows how far it is. It acts once on each execution that matches
    when its turn comes, the oldest first, and was created before it. With `dry_run` the answer is
    200 with the count, and nothing changes. If the count differs from `expected` by more than a
    tenth, the answer is 409 `selection_changed`.
    """
    new = body.new(call.tenant)
    if body.dry_run:
        call.audited = False
        return Answer(_selection(await call.engine.bulk.preview(new)), 200)
    made = await call.engine.bulk.start(new)
    view = SelectionView(
        count=made.matched, exact=made.exact, sample=[], execution=shown.own(made.execution)
    )
    return Answer(view, 201)


def _selection(preview: Preview) -> SelectionView:
    total = preview.total
    sample = [ListedView.of(execution) for execution in preview.sample]
    return SelectionView(count=total.count, exact=total.exact, sample=sample, execution=None)


class ListQuery(Query):
    """Whose bulk actions to list."""

    tenant: Tenants | None = None


@routes.get("/v1/bulk")
async def list_bulk(call: Call, query: ListQuery) -> BulkPage:  # noqa: ARG001 - it names the tenant
    """List the last bulk actions, newest first. 100 are kept for each tenant."""
    found = await call.engine.bulk.list(tenant=call.tenant)
    return BulkPage(items=[BulkView.of(one) for one in found])


@routes.get("/v1/bulk/{id}", errors=(errors.BulkNotFound,))
async def describe(call: Call, id: str) -> BulkView:
    """Read a bulk action and its progress."""
    return BulkView.of(await call.engine.bulk.get(id, tenant=call.tenant))


class ReasonBody(Body):
    """Why."""

    reason: Reason = ""


@routes.post(
    "/v1/bulk/{id}/abort",
    role=Role.OPERATOR,
    errors=(errors.BulkNotFound, errors.AlreadyTerminal),
    example={"reason": "wrong filter"},
)
async def abort(call: Call, id: str, body: ReasonBody) -> BulkView:
    """Stop a bulk action. Executions that it has acted on stay as they are.

    It stops within about a second. Replaying its execution continues it.
    """
    found = await call.engine.bulk.abort(id, tenant=call.tenant, reason=body.reason)
    return BulkView.of(found)
