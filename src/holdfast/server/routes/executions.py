"""Executions: submit, list, read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta
from starlette.responses import Response

from holdfast import errors
from holdfast.errors import HoldfastError, InvalidInput, ResultNotReady
from holdfast.model import bounds, checks, filter_words, names
from holdfast.model.api_keys import Role
from holdfast.model.causes import Cause
from holdfast.model.executions import NewExecution, Outcome, Submitted
from holdfast.model.explanations import target_of
from holdfast.model.listing import Count, Filter
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.states import State
from holdfast.server.auth import shown
from holdfast.server.auth.attachments import check_limits
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http import problems
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Answer, Bare, Routes
from holdfast.server.http.headers import header
from holdfast.server.views.bodies import BatchBody, CheckQuery, ExecutionBody, RawBatchBody
from holdfast.server.views.derive import ModelView
from holdfast.server.views.executions import (
    AttemptPage,
    AttemptView,
    BatchItem,
    BatchView,
    EventPage,
    ExecutionView,
    ExplanationView,
    ListPage,
    StepPage,
    StepView,
    SubmittedView,
    event_view,
)
from holdfast.server.views.fields import (
    Cursor,
    Kind,
    Moment,
    Name,
    PageLimit,
    Query,
    ScopedId,
    Tenants,
    View,
    WaitMs,
)
from holdfast.server.views.invalid import misfit
from holdfast.server.views.paging import PageQuery
from holdfast.server.views.times import rfc3339
from holdfast.tracing import current_traceparent

routes: Routes = Routes("executions", "Durable units of work: submit, list, read.")

BATCH_BYTES = 64 << 20
_REFUSALS = (
    errors.IdConflict,
    errors.IdempotencyConflict,
    errors.LaneDraining,
    errors.RevisionDraining,
    errors.ParentEnded,
    errors.BudgetNotFound,
    errors.QuotaNotFound,
    errors.StoreFull,
)
_STATES = "|".join(State)
#: One state, or several that commas separate.
States = Annotated[str, Meta(max_length=200, pattern=f"^({_STATES})(,({_STATES}))*$")]
_EXAMPLE = {"kind": "mail.send", "input": {"to": "ann@example.org"}, "tags": {"order": "17"}}
_decode_item = msgspec.json.Decoder(ExecutionBody).decode
#: A browser that shows a result must not run anything in it.
_RESULT_HEADERS = {"Content-Security-Policy": "sandbox; default-src 'none'"}


@routes.post(
    "/v1/executions",
    role=Role.SUBMITTER,
    status=(201, 200),
    errors=_REFUSALS,
    example=_EXAMPLE,
)
async def create(call: Call, query: CheckQuery, body: ExecutionBody) -> Answer[SubmittedView]:
    """Submit an execution.

    Options that you omit come from the task's declaration, if a worker has published it.
    Once the call has returned, the execution is durable. A repeated call with the same id or
    idempotency key returns 200 and `duplicate`; send one of them to make retries safe.
    """
    item = query.apply(body.item(str(call.tenant), _traceparent(call)))
    check_limits(call, [item])
    (answer,) = await call.engine.submit_many([item])
    if isinstance(answer, HoldfastError):
        raise answer
    return Answer(SubmittedView.of(answer), 200 if answer.duplicate else 201)


@routes.post(
    "/v1/executions:batch",
    role=Role.SUBMITTER,
    errors=(errors.StoreFull,),
    most_bytes=BATCH_BYTES,
    documented=BatchBody,
    example={"items": [_EXAMPLE, {"kind": "mail.send", "id": "mail-18"}]},
)
async def create_batch(call: Call, query: CheckQuery, body: RawBatchBody) -> BatchView:
    """Submit up to 1,000 executions.

    Each is accepted or refused independently; the answers are in order.
    """
    answers: list[Submitted | HoldfastError | None] = [None] * len(body.items)
    good: list[NewExecution] = []
    places: list[int] = []
    trace = _traceparent(call)
    for place, raw in enumerate(body.items):
        try:
            one = _decode_item(raw)
            item = query.apply(one.item(call.tenant_named(one.tenant), trace))
            check_limits(call, [item])
            good.append(item)
            places.append(place)
        except msgspec.ValidationError as error:
            answers[place] = misfit(error, ExecutionBody, f"items[{place}]")
        except (InvalidInput, errors.Forbidden, errors.NotFound) as error:
            answers[place] = error
    found = iter(await call.engine.submit_many(good))
    for place in places:
        answers[place] = next(found)
    problems.raise_if_all_will_pass(answers)
    return BatchView(items=[_answer_view(answer) for answer in answers])


def _traceparent(call: Call) -> str | None:
    """Return the current span in the caller's trace, or the caller's own if tracing is off.

    A malformed header is ignored, as the W3C specification requires.
    """
    if (ours := current_traceparent()) is not None:
        return ours
    given = header(call.request.scope, b"traceparent")
    try:
        return None if given is None else checks.traceparent("traceparent", given)
    except InvalidInput:
        return None


def _answer_view(answer: Submitted | HoldfastError | None) -> BatchItem:
    if isinstance(answer, Submitted):
        return BatchItem(id=shown.own(answer.id), state=answer.state, duplicate=answer.duplicate)
    error = answer or HoldfastError("no answer")
    return BatchItem(code=error.code, detail=shown.text(error.message))


class Matching(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which executions. Absent filters match any value."""

    #: One state, or several that commas separate.
    state: States | None = None
    lane: Name | None = None
    kind: Kind | None = None
    #: Tasks whose names start so.
    kind_prefix: Kind | None = None
    #: One tag as NAME:VALUE.
    tag: Annotated[str, Meta(max_length=bounds.NAME_CHARS + bounds.TAG_VALUE_CHARS)] | None = None
    #: In the name or the value of a tag, in any case.
    text: Annotated[str, Meta(min_length=1, max_length=bounds.TAG_VALUE_CHARS)] | None = None
    #: Ids that start so.
    id_prefix: ScopedId | None = None
    #: Members of this graph.
    graph: ScopedId | None = None
    #: Children of this execution.
    parent: ScopedId | None = None
    #: Created at or after this time.
    since: Moment | None = None
    #: Created before this time.
    until: Moment | None = None


class FilterQuery(Matching):
    """Which executions to list. Absent filters match any value."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


#: A type of error.
ErrorType = Annotated[str, Meta(min_length=1, max_length=bounds.ERROR_TYPE_CHARS)]


class ListQuery(FilterQuery):
    """Which executions to list, in which order, and what else to say of them."""

    #: Failed with this type of error; `expired` and the like are types, too.
    error_type: ErrorType | None = None
    order: Literal["newest", "oldest"] = "newest"
    #: Say how many match, on all pages.
    total: bool = False
    #: Say why those that have not ended are not running.
    why: bool = False


@routes.get("/v1/executions", query_example={"state": "waiting,active", "limit": "10"})
async def list_executions(call: Call, query: ListQuery) -> ListPage:
    """List executions, newest first.

    An operator key lists the executions of `tenant`, or of all tenants with `tenant=*`. Filters by
    state, kind, lane, tag, graph, parent and error type have indexes. `id_prefix` and `text` have
    none: each call looks at up to 10,000 executions in each partition, so a page may be short, even
    empty, though `next_cursor` is set.
    """
    filters = replace(filter_of(query, call.tenant), oldest=query.order == "oldest")
    page = await call.engine.list(
        filters, limit=query.limit, cursor=query.cursor, total=query.total, whys=query.why
    )
    return ListPage.of(page)


def filter_of(query: Matching, tenant: str | None) -> Filter:
    """Return the filter; ids are those of the tenant."""
    words = msgspec.structs.asdict(query)
    owner = tenant or DEFAULT_TENANT
    ids = {name: words[name] and names.stored_id(owner, words[name]) for name in filter_words.IDS}
    return filter_words.filter_of({**words, **ids}, tenant)


class CountQuery(Query):
    """Whose executions to count."""

    tenant: Tenants | None = None


class CountView(ModelView, model=Count):
    """The number of executions with these properties."""


class CountPage(View):
    """Exact counts."""

    items: list[CountView]
    next_cursor: str | None = None


@routes.get("/v1/counts")
async def count(call: Call, query: CountQuery) -> CountPage:  # noqa: ARG001 - it names the tenant
    """Count executions by tenant, lane, kind and state."""
    cells = await call.engine.count(call.tenant)
    return CountPage(items=[CountView.of(cell) for cell in cells])


@routes.get("/v1/executions/{id}", owner=EXECUTION)
async def describe(call: Call, id: str) -> ExecutionView:
    """Read an execution."""
    return ExecutionView.of(await call.engine.describe(id))


@routes.get("/v1/executions/{id}/input", owner=EXECUTION, media_type="*/*", bare=Bare.PAYLOAD)
async def read_input(call: Call, id: str) -> Response:
    """Read the input of an execution, as it was submitted."""
    data = await call.engine.input(id)
    return Response(data, media_type="application/json", headers=_RESULT_HEADERS)


class ResultQuery(Query):
    """How long to wait for the result."""

    wait_ms: WaitMs = 0


@routes.get(
    "/v1/executions/{id}/result",
    owner=EXECUTION,
    errors=(ResultNotReady, errors.RateLimited, *CHANGING),
    media_type="*/*",
    bare=Bare.PAYLOAD,
    query_example={"wait_ms": "0"},
)
async def result(call: Call, id: str, query: ResultQuery) -> Response:
    """Read the result of an execution, as it was stored, with its content type.

    Without a result the answer is 404 `result_not_ready` with the `state` of the execution. With
    `wait_ms` the call waits for the end of the execution.
    """
    outcome = await call.engine.outcome(id)
    if outcome is None and query.wait_ms:
        with call.waiting():
            outcome = await _wait(call, id, query.wait_ms)
    if outcome is None:
        raise ResultNotReady(f"execution {id} has not ended", id=id)
    return result_of(outcome)


def result_of(outcome: Outcome) -> Response:
    """Return a result as it was stored; raise ResultNotReady if the execution has none."""
    if outcome.result is None:
        raise ResultNotReady(
            f"execution {outcome.id} ended without a result: {outcome.state}",
            id=outcome.id,
            state=outcome.state,
            error=outcome.error,
            reason=outcome.reason,
        )
    media_type = (
        outcome.content_type if outcome.content_type.isascii() else "application/octet-stream"
    )
    return Response(outcome.result, headers={**_RESULT_HEADERS, "Content-Type": media_type})


async def _wait(call: Call, execution_id: str, wait_ms: int) -> Outcome | None:
    try:
        waiting = call.engine.wait(execution_id, timeout_s=wait_ms / 1000)
        return await call.unless_gone(waiting)
    except ResultNotReady:
        return None


@routes.get("/v1/executions/{id}/history", owner=EXECUTION)
async def history(call: Call, id: str, query: PageQuery) -> EventPage:
    """Read the history of an execution, oldest first."""
    events, more = query.part(await call.engine.history(id))
    return EventPage(items=[event_view(event) for event in events], next_cursor=more)


@routes.get("/v1/executions/{id}/attempts", owner=EXECUTION)
async def attempts(call: Call, id: str, query: PageQuery) -> AttemptPage:
    """Read the attempts of an execution, oldest first."""
    attempts, more = query.part(await call.engine.attempts(id))
    return AttemptPage(items=[AttemptView.of(attempt) for attempt in attempts], next_cursor=more)


@routes.get("/v1/executions/{id}/steps", owner=EXECUTION)
async def steps(call: Call, id: str, query: PageQuery) -> StepPage:
    """Read the recorded steps of an execution, in the order of recording."""
    steps, more = query.part(await call.engine.steps(id))
    return StepPage(items=[StepView.of(step) for step in steps], next_cursor=more)


@routes.get(
    "/v1/executions/{id}/export",
    owner=EXECUTION,
    errors=(errors.NotTerminal,),
    bare=Bare.EXACT,
)
async def export(call: Call, id: str) -> Response:
    """Export an ended execution in the format of `holdfast archive export`.

    The export includes the input, result, steps and history, with bytes in base64.
    """
    return Response((await call.engine.export(id)).to_json(), media_type="application/json")


@routes.get("/v1/executions/{id}/explain", owner=EXECUTION)
async def explain(call: Call, id: str) -> ExplanationView:
    """Explain why an execution is not running: in a sentence, and as a list of holds.

    The `target` of a hold is what to look at next: a noun and its id, such as the quota that is
    used up, the worker that has it, or the execution that it waits for.
    """
    explanation = await call.engine.explain(id)
    holds = [_hold(hold) for hold in explanation.holds]
    return ExplanationView(state=explanation.state, why=shown.text(explanation.why), holds=holds)


def _hold(hold: Mapping[str, Any]) -> dict[str, Any]:
    known = shown.own_ids(hold)
    view = {name: _shown(value) for name, value in known.items()}
    target = target_of(known)
    return view if target is None else {**view, "target": target}


def _shown(value: Any) -> Any:
    return rfc3339(value) if hasattr(value, "isoformat") else value


class CausesQuery(Query):
    """Which failures to group."""

    tenant: Tenants | None = None
    kind: Kind | None = None
    #: Ended at or after this time.
    since: Moment | None = None
    #: Ended before this time.
    until: Moment | None = None
    limit: PageLimit = 50


class CauseView(ModelView, model=Cause):
    """Executions of one task that failed in the same way, in the same place."""

    #: The last of them.
    example: str

    @classmethod
    def of(cls, value: Cause) -> Self:
        """Show a cause."""
        examples = tuple(shown.own(one) for one in value.examples)
        return cls.copy(value, example=examples[0], examples=examples)


class CausePage(View):
    """Causes, the most frequent first."""

    items: list[CauseView]
    next_cursor: str | None = None


@routes.get("/v1/executions:causes", query_example={"since": "2026-01-31T12:00:00Z"})
async def causes(call: Call, query: CausesQuery) -> CausePage:
    """Group executions that failed or expired: by task, type and code of the error, and place."""
    found = await call.engine.executions.causes(
        tenant=call.tenant, kind=query.kind, since=query.since, until=query.until
    )
    return CausePage(items=[CauseView.of(cause) for cause in found[: query.limit]])
