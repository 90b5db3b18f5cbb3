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
    def of(cls, edge: Edge) -> EdgeView:
        """Show an edge."""
        return cls(source=edge.source, target=edge.target, on=edge.on, input=edge.input or UNSET)


class JoinView(ModelView, model=Join):
    """How many of its upstreams a member needs."""


class MemberView(View):
    """A member."""

    id: str
    state: str
    kind: str
    join: JoinView
    #: Whether its failure does not count, because a member ran in spite of it.
    spared: bool

    @classmethod
    def of(cls, member: Member) -> MemberView:
        """Show a member."""
        return cls(
            id=shown.own(member.id),
            state=member.state,
            kind=member.kind,
            join=JoinView.of(member.join),
            spared=member.spared,
        )


class GraphSummary(
    ModelView, model=Graph, hide=("budgets",), rename={"version": "revision"}, own=("id", "parent")
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
    def of(cls, graph: GraphView) -> GraphDetail:
        """Show a graph."""
        return cls.copy(
            graph.graph,
            members={key: MemberView.of(member) for key, member in graph.members.items()},
            edges=[EdgeView.of(edge) for edge in graph.edges],
            events=[event_view(event) for event in graph.events],
        )
