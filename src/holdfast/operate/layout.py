"""The layout of a graph: positions of its members, and a Mermaid flowchart.

A member's layer is the length of the longest path to it, so every edge leads to a later layer.
Within a layer, members are placed near those they wait for, which keeps crossings few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.model.graphs import Edge, GraphView, Member, On
from holdfast.model.states import State
from holdfast.operate import layered
from holdfast.operate.layered import Drawing, Size

#: How large the box of a member is drawn.
BOX: Size = (160.0, 44.0)
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
    spots = arrange({one.key: [edge.source for edge in one.edges] for one in members})
    layers = [layer for layer, _ in spots.values()]
    return Layout(
        nodes=tuple(
            Node(member=member, layer=spots[member.key][0], place=spots[member.key][1])
            for member in members
        ),
        edges=tuple(view.edges),
        layers=max(layers, default=-1) + 1,
        width=max(Counter(layers).values(), default=0),
    )


def drawing(view: GraphView) -> Drawing:
    """Draw the members of a graph; each edge that it has is an arrow."""
    return layered.draw(
        dict.fromkeys(view.members, BOX), [(edge.source, edge.target) for edge in view.edges]
    )


def arrange(sources: Mapping[str, Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Return the layer and the place of each key, given where the edges to it come from.

    The keys must be in an order in which each follows its sources.
    """
    layers: dict[str, int] = {}
    by_layer: dict[int, list[str]] = {}
    for key, before in sources.items():
        layers[key] = max((layers[source] + 1 for source in before), default=0)
        by_layer.setdefault(layers[key], []).append(key)
    places: dict[str, int] = {}

    def mean(key: str) -> float:
        found = [places[source] for source in sources[key]]
        return sum(found) / len(found) if found else 0

    for layer in sorted(by_layer):
        row = sorted(by_layer[layer], key=mean)
        places |= {key: place for place, key in enumerate(row)}
    return {key: (layers[key], places[key]) for key in sources}


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
