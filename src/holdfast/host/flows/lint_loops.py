"""Lint of loops: each must wait for a user, or be able to end."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.host.flows import graph
from holdfast.host.flows.expressions import Expression
from holdfast.host.flows.graph import Place
from holdfast.host.flows.model import WAITING, Flow, FlowNode, NodeKind, SetVars, SubFlow
from holdfast.host.flows.problems import Problems
from holdfast.host.flows.syntax import Index, Literal, Name, Select, Tree

#: Kinds whose output differs from run to run, so that a condition on it can end a loop.
_CHANGING = frozenset(
    {
        NodeKind.CALL,
        NodeKind.FLOW,
        NodeKind.PARALLEL,
        NodeKind.EACH,
        NodeKind.LLM,
        NodeKind.HTTP,
        NodeKind.PROVIDER,
    }
)


def check_loops(flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report loops without a wait that no condition can end."""
    everything = graph.pack_edges(flows)
    busy = {
        place: {one for one in nexts if not _waits(flows, one)}
        for place, nexts in everything.items()
        if not _waits(flows, place)
    }
    for loop in graph.loops(busy):
        places = set(loop)
        if any(_ends(flows, place, places) for place in loop):
            continue
        order = list(everything)
        first = min(loop, key=order.index)
        names = " -> ".join(node for _, node in sorted(loop, key=order.index))
        message = f"the loop {names} -> {first[1]} has no wait, and no condition can end it"
        hint = "add a `wait` or an `ask`, or a route out of it on a value that the loop changes"
        problems.add("endless_loop", flows[first[0]].nodes[first[1]].key, message, hint)


def _waits(flows: Mapping[str, Flow], place: Place) -> bool:
    node = flows[place[0]].nodes[place[1]]
    if node.kind in WAITING:
        return node.when is None
    if isinstance(node.action, SubFlow) and node.when is None:
        inner = flows.get(node.action.flow.name)
        return (
            inner is not None
            and inner.nodes.get(inner.start) is not None
            and any(one.kind in WAITING and one.id == inner.start for one in inner.nodes.values())
        )
    return False


def _ends(flows: Mapping[str, Flow], place: Place, loop: set[Place]) -> bool:
    """Return whether a node can leave its loop because of something that the loop changes."""
    flow_id, node_id = place
    node = flows[flow_id].nodes[node_id]
    leaving = [edge for edge in graph.edges(node) if (flow_id, edge.to.name) not in loop]
    staying = [edge for edge in graph.edges(node) if (flow_id, edge.to.name) in loop]
    if node.kind in _CHANGING and any(edge.why == "on_error" for edge in staying):
        # It tries again until it succeeds; what a turn may run bounds that.
        return any(edge.why == "out" for edge in leaving) or not node.out
    conditions = [edge.when for edge in leaving if edge.why == "out"]
    conditions += [edge.when for edge in staying if edge.why == "out"] if leaving else []
    return any(
        when is not None and _changes(flows, when.expression, node, loop) for when in conditions
    )


def _changes(
    flows: Mapping[str, Flow], expression: Expression, node: FlowNode, loop: set[Place]
) -> bool:
    """Return whether a condition refers to a value that the loop changes."""
    members = [flows[flow].nodes[name] for flow, name in loop]
    written: set[str] = set()
    for member in members:
        written |= set(member.set)
        if isinstance(member.action, SetVars):
            written |= set(member.action.values)
    changing = {member.id for member in members if member.kind in _CHANGING}
    for part in expression.tree.walk():
        root, field = _root_and_field(part)
        if root == "vars" and field in written:
            return True
        if root == "nodes" and field in changing:
            return True
        if isinstance(part, Name) and part.name == "now":
            return True
        if isinstance(part, Name) and part.name == "prev" and changing:
            return node.kind in _CHANGING or bool(changing)
    return False


def _root_and_field(part: Tree) -> tuple[str, str]:
    if isinstance(part, Select) and isinstance(part.operand, Name):
        return part.operand.name, part.field
    if isinstance(part, Index) and isinstance(part.operand, Name):
        key = part.key
        return part.operand.name, str(key.value) if isinstance(key, Literal) else ""
    return "", ""


def check_recursion(flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report flows that run themselves as sub-flows."""
    calls: dict[str, list[SubFlow]] = {
        flow.id: [
            work
            for node in flow.nodes.values()
            for work in graph.work_of(node)
            if isinstance(work, SubFlow) and work.flow.name in flows
        ]
        for flow in flows.values()
    }
    following = {flow: {work.flow.name for work in works} for flow, works in calls.items()}
    for flow, works in calls.items():
        for work in works:
            if flow in graph.reachable({work.flow.name}, following):
                message = f"the flow `{flow}` runs itself"
                if work.flow.name != flow:
                    message += f" through `{work.flow}`"
                hint = "use `goto`, which does not come back"
                problems.add("recursive_flow", work.flow.node, message, hint)
