"""Graphs: executions that start when others end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.bonds import OnParentEnd
from holdfast.model.executions import NewExecution
from holdfast.model.graphs import Edge, Join, SubmittedGraph, by_key
from holdfast.model.listing import Filter
from holdfast.operate import layout, spans
from holdfast.server.auth import shown
from holdfast.server.auth.attachments import check_limits
from holdfast.server.auth.owners import GRAPH
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Answer, Routes
from holdfast.server.views.bodies import CheckQuery, ExecutionBody
from holdfast.server.views.executions import StateView
from holdfast.server.views.fields import (
    Body,
    Cursor,
    DurationMs,
    Key,
    Kind,
    LimitName,
    Name,
    PageLimit,
    PositiveMs,
    Query,
    Reason,
    ScopedId,
    Tenants,
    View,
    WaitMs,
)
from holdfast.server.views.graphs import GraphDetail, GraphPage, GraphSummary
from holdfast.server.views.operability import LayoutView, WaterfallView

routes: Routes = Routes("graphs", "Executions that start when others end.")

GRAPH_BYTES = 64 << 20
_CANCEL_WAIT_MS = 10_000
_SHAPE = (errors.InvalidGraph, errors.CycleDetected, errors.StoreFull)
#: Of members, which are executions.
_CREATION = (
    errors.LaneDraining,
    errors.IdConflict,
    errors.BudgetNotFound,
    errors.QuotaNotFound,
)
_MEMBERS = [
    {"key": "fetch", "kind": "page.fetch", "input": {"url": "https://example.org"}},
    {"key": "parse", "kind": "page.parse"},
]
_EDGES = [{"from": "fetch", "to": "parse", "input": "page"}]


class MemberBody(ExecutionBody, kw_only=True):
    """A member: an execution, and the key that edges use for it."""

    key: Kind


class EdgeBody(Body):
    """One member waits for the end of another."""

    source: Kind = field(name="from")
    target: Kind = field(name="to")
    #: Which outcome to wait for: success, failure, or always.
    on: Literal["success", "failure", "always"] = "success"
    #: The name under which the upstream's result enters the input; a trailing `[]` makes a list.
    input: str | None = None

    def edge(self) -> Edge:
        """Return the value for the engine."""
        return Edge(source=self.source, target=self.target, on=self.on, input=self.input)


class JoinBody(Body):
    """How many of its upstreams a member needs."""

    policy: Literal["all", "any", "quorum"] = "all"
    #: The number for a quorum.
    k: Annotated[int, Meta(ge=1, le=bounds.GRAPH_MEMBERS)] | None = None
    #: What happens to upstreams that are no longer needed.
    losers: Literal["cancel", "keep"] = "keep"

    def join(self) -> Join:
        """Return the value for the engine."""
        return Join(policy=self.policy, k=self.k, losers=self.losers)


Members = Annotated[list[MemberBody], Meta(max_length=bounds.GRAPH_MEMBERS)]
Edges = Annotated[list[EdgeBody], Meta(max_length=bounds.GRAPH_EDGES)]
Joins = dict[Kind, JoinBody]


class GraphBody(Body):
    """A graph to create, all or nothing."""

    members: Members
    edges: Edges = field(default_factory=list)
    joins: Joins = field(default_factory=dict)
    #: Generated if absent.
    id: ScopedId | None = None
    tenant: Name | None = None
    #: Its open members expire this long after its creation.
    deadline_ms: PositiveMs | None = None
    idempotency_key: Key | None = None
    retention_ms: DurationMs | None = None
    #: The URL of a webhook that is called when it has ended.
    on_end: Annotated[str, Meta(max_length=bounds.URL_CHARS)] | None = None
    #: What happens to a graph of a task, PARENT~REPLAY.gNUMBER, when that execution ends.
    on_parent_end: OnParentEnd = OnParentEnd.KEEP
    #: Budgets that all its members charge.
    budgets: Annotated[tuple[LimitName, ...], Meta(max_length=bounds.BUDGETS)] = ()


class SubmittedGraphView(View, omit_defaults=True):
    """The created graph, with the ids of executions by the keys of their members."""

    id: str
    revision: int
    members: dict[str, str]
    #: Whether it already existed, by its id or its idempotency key.
    duplicate: bool = False


@routes.post(
    "/v1/graphs",
    role=Role.SUBMITTER,
    status=(201, 200),
    errors=(
        *_SHAPE,
        *_CREATION,
        errors.IdempotencyConflict,
        errors.StagingLost,
        errors.ParentEnded,
    ),
    most_bytes=GRAPH_BYTES,
    example={"members": _MEMBERS, "edges": _EDGES, "joins": {"parse": {"policy": "all"}}},
)
async def create(call: Call, query: CheckQuery, body: GraphBody) -> Answer[SubmittedGraphView]:
    """Submit a graph, all or nothing.

    A repeated call with the same id or idempotency key returns 200 and `duplicate`.
    """
    tenant = str(call.tenant)
    members = _members(body.members, tenant, query)
    shared = [NewExecution(kind="graph", budgets=body.budgets)]
    check_limits(call, [*members.values(), *shared])
    made = await call.engine.graphs.submit(
        members,
        _edges(body.edges),
        _joins(body.joins),
        id=body.id,
        tenant=tenant,
        deadline_ms=body.deadline_ms,
        idempotency_key=body.idempotency_key,
        retention_ms=body.retention_ms,
        on_end=body.on_end,
        on_parent_end=body.on_parent_end,
        budgets=body.budgets,
    )
    view = SubmittedGraphView(
        id=shown.own(made.id),
        revision=made.version,
        members=_own_members(made),
        duplicate=made.duplicate,
    )
    return Answer(view, 200 if made.duplicate else 201)


def _own_members(made: SubmittedGraph) -> dict[str, str]:
    return {key: shown.own(member) for key, member in made.members.items()}


def _members(
    members: Sequence[MemberBody], tenant: str, query: CheckQuery
) -> dict[str, NewExecution]:
    return by_key(
        (member.key, query.apply(member.item(member.tenant or tenant))) for member in members
    )


def _edges(edges: Sequence[EdgeBody]) -> list[Edge]:
    return [edge.edge() for edge in edges]


def _joins(joins: Mapping[str, JoinBody]) -> dict[str, Join]:
    return {key: one.join() for key, one in joins.items()}


Version = Annotated[int, Meta(ge=1, le=2**53)]
_GROWTH = (*_SHAPE, errors.GraphFinished, errors.StaleGraph, errors.MemberStarted)


class GrowBody(Body):
    """Members to add, with the edges that lead to and from them."""

    #: The addition is refused if the graph has another version by now.
    expected_revision: Version
    members: Annotated[list[MemberBody], Meta(min_length=1, max_length=bounds.GRAPH_GROWTH)]
    edges: Annotated[list[EdgeBody], Meta(max_length=bounds.GRAPH_GROWTH)] = field(
        default_factory=list
    )
    joins: Joins = field(default_factory=dict)


class GrownView(View):
    """The new version, and the ids of executions by the keys of new members."""

    revision: int
    members: dict[str, str] | UnsetType = UNSET

    @classmethod
    def of(cls, made: SubmittedGraph) -> GrownView:
        """Show an answer."""
        return cls(revision=made.version, members=_own_members(made) or UNSET)


@routes.post(
    "/v1/graphs/{id}/members",
    role=Role.SUBMITTER,
    owner=GRAPH,
    errors=(*_GROWTH, *_CREATION),
    conflicts=(errors.CycleDetected,),
    most_bytes=GRAPH_BYTES,
    example={
        "expected_revision": 1,
        "members": [{"key": "store", "kind": "page.store"}],
        "edges": [{"from": "fetch", "to": "store"}],
    },
)
async def add_members(
    call: Call,
    id: str,
    query: CheckQuery,
    body: GrowBody,
) -> GrownView:
    """Add members and edges to a graph that has not ended."""
    tenant = call.tenant or await call.engine.graphs.owner(id)
    members = _members(body.members, tenant, query)
    check_limits(call, list(members.values()))
    made = await call.engine.graphs.extend(
        id,
        body.expected_revision,
        members=members,
        edges=_edges(body.edges),
        joins=_joins(body.joins),
    )
    return GrownView.of(made)


class EdgesBody(Body):
    """Edges to add between members."""

    expected_revision: Version
    edges: Annotated[list[EdgeBody], Meta(min_length=1, max_length=bounds.GRAPH_GROWTH)]


@routes.post(
    "/v1/graphs/{id}/edges",
    role=Role.SUBMITTER,
    owner=GRAPH,
    errors=_GROWTH,
    conflicts=(errors.CycleDetected,),
    example={"expected_revision": 1, "edges": [{"from": "fetch", "to": "parse"}]},
)
async def add_edges(call: Call, id: str, body: EdgesBody) -> GrownView:
    """Add edges to members that have not started."""
    edges = _edges(body.edges)
    return GrownView.of(await call.engine.graphs.extend(id, body.expected_revision, edges=edges))


class DescribeQuery(Query):
    """How long to wait for the end of the graph."""

    wait_ms: WaitMs = 0


@routes.get(
    "/v1/graphs/{id}",
    owner=GRAPH,
    errors=(errors.RateLimited, *CHANGING),
    query_example={"wait_ms": "0"},
)
async def describe(call: Call, id: str, query: DescribeQuery) -> GraphDetail:
    """Read a graph with its members, edges and history. With `wait_ms`, wait for its end first."""
    if query.wait_ms and await call.engine.graphs.outcome(id) is None:
        with call.waiting():
            await _wait(call, id, query.wait_ms)
    return GraphDetail.of(await call.engine.graphs.describe(id))


@routes.get("/v1/graphs/{id}/layout", owner=GRAPH)
async def draw(call: Call, id: str) -> LayoutView:
    """Read where to draw the members of a graph.

    The positions change only with the `revision` of the graph, so a reader keeps them and follows
    the states of the members.
    """
    view = await call.engine.graphs.describe(id)
    # Ids depend on who reads them, and an id may be that of a new graph.
    key = (call.identity.tenant, id, view.graph.created_at, view.graph.version)
    drawn = _DRAWN.get(key)
    if drawn is not None:
        return drawn.now(view.members)
    drawing = await asyncio.to_thread(layout.drawing, view)
    if len(_DRAWN) >= _MOST_DRAWN:
        _DRAWN.clear()
    _DRAWN[key] = drawn = LayoutView.of(layout.of(view), drawing, view.graph.version)
    return drawn


#: Layouts by reader, graph and revision.
_DRAWN: dict[tuple[str | None, str, datetime, int], LayoutView] = {}
_MOST_DRAWN = 20


@routes.get("/v1/graphs/{id}/timeline", owner=GRAPH)
async def of_graph(call: Call, id: str) -> WaterfallView:
    """Read what the members of a graph did when, for drawing: in line, and running.

    The axis folds long idle time. Only the first 500 members are shown.
    """
    tenant = await call.engine.graphs.owner(id)
    found = await call.engine.list(
        Filter(tenant=tenant, graph=id, oldest=True), limit=_MOST_MEMBERS
    )
    members = spans.of_members(found.items, datetime.now(UTC))
    return WaterfallView.of(members, more=found.next_cursor is not None)


#: Members that a timeline shows.
_MOST_MEMBERS = 500


async def _wait(call: Call, graph_id: str, wait_ms: int) -> None:
    try:
        await call.unless_gone(call.engine.graphs.wait(graph_id, timeout_s=wait_ms / 1000))
    except errors.ResultNotReady:
        return


class ListQuery(Query):
    """Which graphs to list. Absent filters match any value."""

    tenant: Tenants | None = None
    state: Literal["running", "completed", "failed", "cancelled"] | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get("/v1/graphs", query_example={"state": "running", "limit": "10"})
async def list_graphs(call: Call, query: ListQuery) -> GraphPage:
    """List graphs, newest first."""
    page = await call.engine.graphs.list(
        tenant=call.tenant, state=query.state, limit=query.limit, cursor=query.cursor
    )
    items = [GraphSummary.of(graph) for graph in page.items]
    return GraphPage(items=items, next_cursor=page.next_cursor)


class CancelBody(Body):
    """The reason, and what happens to the members."""

    reason: Reason = ""
    policy: Literal["cancel_all", "cancel_pending", "leave"] = "cancel_all"
    #: Return when the members that the policy cancels have ended, at the latest after `wait_ms`.
    wait: bool = False
    wait_ms: WaitMs = _CANCEL_WAIT_MS


class CancelledView(View):
    """The state, and the number of members that the cancellation has ended."""

    state: str
    cancelled: int
    #: With `wait`: cancelled members that had not ended when the time was over.
    failed: list[str] | UnsetType = UNSET


@routes.post(
    "/v1/graphs/{id}/cancel",
    role=Role.OPERATOR,
    owner=GRAPH,
    errors=(errors.GraphFinished, errors.RateLimited),
    example={"reason": "ordered twice", "policy": "cancel_all"},
)
async def cancel(call: Call, id: str, body: CancelBody) -> CancelledView:
    """Cancel a graph. The server completes the cancellation even without `wait`."""
    graphs = call.engine.graphs
    if not body.wait:
        done = await graphs.cancel(id, policy=body.policy, reason=body.reason)
        return CancelledView(state=done.state, cancelled=done.cancelled)
    with call.waiting():
        done = await graphs.cancel(
            id, policy=body.policy, reason=body.reason, wait_s=body.wait_ms / 1000
        )
    failed: Any = [shown.own(execution_id) for execution_id in done.failed] or UNSET
    return CancelledView(state=done.state, cancelled=done.cancelled, failed=failed)


class ReplayBody(Body):
    """The reason, kept in the history."""

    reason: Reason = ""


@routes.post(
    "/v1/graphs/{id}/replay",
    role=Role.OPERATOR,
    owner=GRAPH,
    errors=(errors.GraphNotFinished, errors.NothingToReplay, errors.StoreFull),
    example={"reason": "the partner is back"},
)
async def replay(call: Call, id: str, body: ReplayBody) -> StateView:
    """Run the failed members of a graph again, and those skipped because of them."""
    await call.engine.graphs.replay(id, reason=body.reason)
    return StateView(state="running")
