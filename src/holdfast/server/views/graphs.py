"""Graphs as replies show them."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType, field

from holdfast.model.graphs import Edge, Graph, GraphView, Join, Member
from holdfast.server.auth import shown
from holdfast.server.views.derive import ModelView
from holdfast.server.views.executions import event_view
from holdfast.server.views.fields import View


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


class JoinView(ModelView, model=Join):
    """How many of its upstreams a member needs."""


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


class GraphSummary(
    ModelView, model=Graph, hide=("budgets",), rename={"version": "revision"}, own=("id",)
):
    """A graph as a whole."""

    #: running, completed, failed, cancelled.
    state: str


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
    def of(cls, one: GraphView) -> GraphDetail:
        """Show a graph."""
        return cls.copy(
            one.graph,
            members={key: MemberView.of(member) for key, member in one.members.items()},
            edges=[EdgeView.of(edge) for edge in one.edges],
            events=[event_view(event) for event in one.events],
        )
