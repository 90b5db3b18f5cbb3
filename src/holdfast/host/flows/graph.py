"""The graph of a flow's nodes: where each can continue, what is reachable, and the loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.host.flows.fields import Ref
from holdfast.host.flows.model import (
    Call,
    Condition,
    Each,
    End,
    Flow,
    FlowNode,
    Goto,
    Parallel,
    SubFlow,
)

#: A node of a pack: flow and node.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from a node to another, or to `end`."""

    to: Ref
    why: str
    when: Condition | None = None


def edges(node: FlowNode) -> list[Edge]:
    """Return where a node of a flow can continue in the same flow."""
    found = []
    if not isinstance(node.action, Goto | End) or node.when is not None:
        found = [Edge(route.to, "out", route.when) for route in node.out]
    for why, ref in (
        ("on_error", node.on_error),
        ("on_timeout", getattr(node.action, "on_timeout", None)),
    ):
        if ref is not None:
            found.append(Edge(ref, why))
    return found


def work_of(node: FlowNode) -> list[Call | SubFlow]:
    """Return the calls and sub-flows of a node."""
    action = node.action
    if isinstance(action, Parallel):
        return list(action.branches.values())
    if isinstance(action, Each):
        return [action.do]
    return [action] if isinstance(action, Call | SubFlow) else []


def successors(flow: Flow) -> dict[str, set[str]]:
    """Return the nodes that can follow each node."""
    return {
        node.id: {edge.to.name for edge in edges(node) if edge.to.name in flow.nodes}
        for node in flow.nodes.values()
    }


def next_flows(flow: Flow) -> set[str]:
    """Return the flows that a flow enters."""
    found = set()
    for node in flow.nodes.values():
        if isinstance(node.action, Goto):
            found.add(node.action.flow.name)
        found |= {work.flow.name for work in work_of(node) if isinstance(work, SubFlow)}
    return found


def reachable(start: Iterable[str], following: Mapping[str, set[str]]) -> set[str]:
    """Return what can be reached, the start included."""
    seen: set[str] = set()
    waiting = [one for one in start if one in following]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting.extend(following[one] - seen)
    return seen


def pack_edges(flows: Mapping[str, Flow]) -> dict[Place, set[Place]]:
    """Return the nodes that can follow each node of a pack, by `goto` too."""
    found: dict[Place, set[Place]] = {}
    for flow in flows.values():
        for node_id, nexts in successors(flow).items():
            found[flow.id, node_id] = {(flow.id, one) for one in nexts}
            target = goto_target(flows, flow.nodes[node_id])
            if target is not None:
                found[flow.id, node_id].add(target)
    return found


def goto_target(flows: Mapping[str, Flow], node: FlowNode) -> Place | None:
    """Return where a `goto` leads, if it leads somewhere."""
    action = node.action
    if not isinstance(action, Goto) or action.flow.name not in flows:
        return None
    flow = flows[action.flow.name]
    name = action.node.name if action.node else flow.start
    return (flow.id, name) if name in flow.nodes else None


def loops(following: Mapping[Place, set[Place]]) -> list[list[Place]]:
    """Return the strongly connected parts that are loops."""
    # Kosaraju's algorithm, without recursion: flows come from strangers.
    before: dict[Place, set[Place]] = {place: set() for place in following}
    for place, nexts in following.items():
        for other in nexts:
            if other in before:
                before[other].add(place)
    found: list[list[Place]] = []
    assigned: set[Place] = set()
    for root in reversed(_finished(following)):
        part: list[Place] = []
        waiting = [root]
        while waiting:
            place = waiting.pop()
            if place not in assigned:
                assigned.add(place)
                part.append(place)
                waiting.extend(before[place] - assigned)
        if len(part) > 1 or (part and part[0] in following[part[0]]):
            found.append(part)
    return found


def _finished(following: Mapping[Place, set[Place]]) -> list[Place]:
    """Return all places in the order in which a depth-first walk leaves them."""
    order: list[Place] = []
    seen: set[Place] = set()
    for root in following:
        work = [(root, False)]
        while work:
            place, is_left = work.pop()
            if is_left:
                order.append(place)
            elif place not in seen:
                seen.add(place)
                work.append((place, True))
                nexts = (other for other in following[place] if other in following)
                work.extend((other, False) for other in nexts if other not in seen)
    return order
