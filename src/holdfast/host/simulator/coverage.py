"""Which nodes of a pack its tests ran, and by which ways they left them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from typing_extensions import override

from holdfast.host.flows.model import End, Flow, FlowNode, Goto
from holdfast.host.flows.watching import ON_ERROR, ON_TIMEOUT, Watcher, route

#: A flow and one of its nodes.
Place = tuple[str, str]
#: A flow, a node, and how the flow leaves it.
Way = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was covered of what there is."""

    nodes: frozenset[Place]
    ways: frozenset[Way]
    missed_nodes: tuple[Place, ...]
    missed_ways: tuple[Way, ...]

    @property
    def percent(self) -> float:
        """How much of all nodes and ways was covered."""
        covered = len(self.nodes) + len(self.ways)
        whole = covered + len(self.missed_nodes) + len(self.missed_ways)
        return 100.0 if whole == 0 else 100 * covered / whole

    def missed(self) -> list[str]:
        """Return what was not covered, for a person; a node that never ran counts once."""
        alone = [way for way in self.missed_ways if way[:2] not in self.missed_nodes]
        return [
            *(f"{flow}.{node}" for flow, node in self.missed_nodes),
            *(f"{flow}.{node} {way}" for flow, node, way in alone),
        ]

    def as_value(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "percent": round(self.percent, 1),
            "nodes": {
                "covered": len(self.nodes),
                "missed": [".".join(p) for p in self.missed_nodes],
            },
            "ways": {"covered": len(self.ways), "missed": [list(way) for way in self.missed_ways]},
        }


@final
class Collector(Watcher):
    """Collects what runs."""

    def __init__(self) -> None:
        self._nodes: set[Place] = set()
        self._ways: set[Way] = set()

    @override
    def entered(self, execution: str, flow: str, node: str) -> None:
        self._nodes.add((flow, node))

    @override
    def left(self, flow: str, node: str, way: str) -> None:
        self._ways.add((flow, node, way))

    def coverage(self, flows: Mapping[str, Flow]) -> Coverage:
        """Compare what ran with all that flows have."""
        places = [(flow.id, node) for flow in flows.values() for node in flow.nodes]
        ways = [
            (flow.id, node.id, way)
            for flow in flows.values()
            for node in flow.nodes.values()
            for way in ways_of(node)
        ]
        return Coverage(
            nodes=frozenset(place for place in places if place in self._nodes),
            ways=frozenset(way for way in ways if way in self._ways),
            missed_nodes=tuple(place for place in places if place not in self._nodes),
            missed_ways=tuple(way for way in ways if way not in self._ways),
        )


def ways_of(node: FlowNode) -> list[str]:
    """Return the ways by which a flow can leave a node."""
    ways = []
    if not isinstance(node.action, Goto | End) or node.when is not None:
        ways = [route(number) for number in range(len(node.out))]
    if node.on_error is not None:
        ways.append(ON_ERROR)
    if getattr(node.action, "on_timeout", None) is not None:
        ways.append(ON_TIMEOUT)
    return ways
