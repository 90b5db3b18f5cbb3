"""The layout of a graph: positions of its members, and a Mermaid flowchart.

A member's layer is the length of the longest path to it, so every edge leads to a later layer.
Within a layer, members are placed near those they wait for, which keeps crossings few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.model.graphs import Edge, GraphView, Member, On
from holdfast.model.states import State

_ARROWS = {On.SUCCESS: "-->", On.FAILURE: "-. failure .->", On.ALWAYS: "-- always -->"}
_COLOURS = {
    State.COMPLETED: "fill:#d3f2d3",
    State.FAILED: "fill:#f6c9c9",
    State.EXPIRED: "fill:#f6c9c9",
    State.CANCELLED: "fill:#e0e0e0",
    State.SKIPPED: "fill:#f3f3f3,stroke-dasharray:4",
    State.ACTIVE: "fill:#cfe3fb",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A member and its position."""

    member: Member
    #: From 0; members of layer 0 wait for no others.
    layer: int
    #: From 0, in its layer.
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSummary:
    """The members of one kind in a layer, counted by state, most frequent first."""

    layer: int
    kind: str
    states: Mapping[State, int]

    @property
    def size(self) -> int:
        """The total number of members."""
        return sum(self.states.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The positions of all members, each after those it waits for."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    #: How many layers there are, and how many members the largest has.
    layers: int
    width: int

    def summary(self) -> list[LayerSummary]:
        """Summarize the members by layer and kind."""
        counts: dict[tuple[int, str], Counter[State]] = {}
        for node in self.nodes:
            row = counts.setdefault((node.layer, node.member.kind), Counter())
            row[node.member.state] += 1
        return [
            LayerSummary(layer=layer, kind=kind, states=dict(states.most_common()))
            for (layer, kind), states in counts.items()
        ]


def of(view: GraphView) -> Layout:
    """Lay out a graph."""
    members = in_order(view)
    layers: dict[str, int] = {}
    for member in members:
        layers[member.key] = max((layers[edge.source] + 1 for edge in member.edges), default=0)
    places = _places(members, layers)
    return Layout(
        nodes=tuple(
            Node(member=member, layer=layers[member.key], place=places[member.key])
            for member in members
        ),
        edges=tuple(view.edges),
        layers=max(layers.values(), default=-1) + 1,
        width=max(Counter(layers.values()).values(), default=0),
    )


def _places(members: Iterable[Member], layers: Mapping[str, int]) -> dict[str, int]:
    """Order each layer by the mean position of the members that its members wait for."""
    by_layer: dict[int, list[Member]] = {}
    for member in members:
        by_layer.setdefault(layers[member.key], []).append(member)
    places: dict[str, int] = {}

    def mean(member: Member) -> float:
        sources = [places[edge.source] for edge in member.edges]
        return sum(sources) / len(sources) if sources else 0

    for layer in sorted(by_layer):
        for place, member in enumerate(sorted(by_layer[layer], key=mean)):
            places[member.key] = place
    return places


def in_order(view: GraphView) -> list[Member]:
    """Return the members in an order in which each follows those it waits for."""
    left = {key: len(member.edges) for key, member in view.members.items()}
    after = edges_by_source(view)
    ready = [key for key in view.members if left[key] == 0]
    ordered = []
    for key in ready:
        ordered.append(view.members[key])
        for edge in after.get(key, ()):
            left[edge.target] -= 1
            if left[edge.target] == 0:
                ready.append(edge.target)
    return ordered


def edges_by_source(view: GraphView) -> dict[str, list[Edge]]:
    """Return the edges that leave each member."""
    edges: dict[str, list[Edge]] = {}
    for edge in view.edges:
        edges.setdefault(edge.source, []).append(edge)
    return edges


def mermaid(view: GraphView) -> Iterable[str]:
    """Return a graph as a Mermaid flowchart."""
    members = in_order(view)
    names: Mapping[str, str] = {member.key: f"m{n}" for n, member in enumerate(members)}
    yield "flowchart TD"
    for member in members:
        yield f'    {names[member.key]}["{member.key}<br/>{member.state}"]:::{member.state}'
    for member in members:
        for edge in member.edges:
            yield f"    {names[edge.source]} {_ARROWS[On(edge.on)]} {names[edge.target]}"
    for state in sorted({member.state for member in members} & set(_COLOURS)):
        yield f"    classDef {state} {_COLOURS[state]}"
