"""Graphs as replies show them."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType, field

from holdfast.model.graphs import Edge, Graph, GraphView, Join, Member
from holdfast.server.auth import shown
from holdfast.server.views.executions import event_view
from holdfast.server.views.fields import View
from holdfast.server.views.times import optional, rfc3339


class EdgeView(View):
    """One member waits for the end of another."""

    source: str = field(name="from")
    target: str = field(name="to")
    on: str
    input: str | UnsetType = UNSET

    @classmethod
    def of(cls, one: Edge) -> EdgeView:
        """Show an edge."""
        return cls(source=one.source, target=one.target, on=one.on, input=one.input or UNSET)


class JoinView(View):
    """How many of its upstreams a member needs."""

    policy: str
    k: int | None
    losers: str

    @classmethod
    def of(cls, one: Join) -> JoinView:
        """Show a join."""
        return cls(policy=one.policy, k=one.k, losers=one.losers)


class MemberView(View):
    """A member."""

    id: str
    state: str
    kind: str
    join: JoinView
    #: Its failure does not count: something ran in spite of it.
    spared: bool

    @classmethod
    def of(cls, one: Member) -> MemberView:
        """Show a member."""
        return cls(
            id=shown.own(one.id),
            state=one.state,
            kind=one.kind,
            join=JoinView.of(one.join),
            spared=one.spared,
        )


class GraphSummary(View):
    """A graph as a whole."""

    id: str
    tenant: str
    #: running, completed, failed, cancelled.
    state: str
    revision: int
    #: How many members it has, and how many of them have not ended.
    size: int
    open: int
    #: Members that ended badly and were not taken up.
    failures: int
    created_at: str
    completed_at: str | None
    deadline_at: str | None
    forget_at: str | None
    replays: int
    idempotency_key: str | None
    cancel_policy: str | None
    #: Why it was cancelled, and how many members that has ended.
    reason: str | None
    cancelled: int

    @classmethod
    def of(cls, one: Graph) -> GraphSummary:
        """Show a graph."""
        return cls(**_fields(one))


class GraphPage(View):
    """A page of graphs, newest first."""

    items: list[GraphSummary]
    next_cursor: str | None


class GraphDetail(GraphSummary):
    """A graph with its members by key, its edges and its history."""

    members: dict[str, MemberView]
    edges: list[EdgeView]
    events: list[dict[str, Any]]

    @classmethod
    def of(cls, one: GraphView) -> GraphDetail:  # type: ignore[override]
        """Show a graph."""
        return cls(
            members={key: MemberView.of(member) for key, member in one.members.items()},
            edges=[EdgeView.of(edge) for edge in one.edges],
            events=[event_view(event) for event in one.events],
            **_fields(one.graph),
        )


def _fields(one: Graph) -> dict[str, Any]:
    return {
        "id": shown.own(one.id),
        "tenant": one.tenant,
        "state": one.state,
        "revision": one.version,
        "size": one.size,
        "open": one.open,
        "failures": one.failures,
        "created_at": rfc3339(one.created_at),
        "completed_at": optional(one.completed_at),
        "deadline_at": optional(one.deadline_at),
        "forget_at": optional(one.forget_at),
        "replays": one.replays,
        "idempotency_key": one.idempotency_key,
        "cancel_policy": one.cancel_policy,
        "reason": one.reason,
        "cancelled": one.cancelled,
    }
