"""Lint: what is certainly wrong in flows, before they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from holdfast.errors import InvalidPack
from holdfast.host.flows import graph
from holdfast.host.flows.known import Known
from holdfast.host.flows.lint_loops import check_loops, check_recursion
from holdfast.host.flows.lint_references import check_references
from holdfast.host.flows.lint_scope import check_scope, vars_of
from holdfast.host.flows.model import (
    CONVERSING,
    END,
    Approval,
    Each,
    End,
    Flow,
    FlowNode,
    Goto,
    Join,
    NodeKind,
    Parallel,
    SubFlow,
)
from holdfast.host.flows.parser import load_flow
from holdfast.host.flows.problems import Problem, Problems, Severity, article
from holdfast.host.yaml_source import Node
from holdfast.model.hints import did_you_mean

_TALKING = frozenset({NodeKind.WAIT, NodeKind.ASK})
_INSTANT = frozenset({NodeKind.EMIT, NodeKind.SET, NodeKind.GOTO, NodeKind.END})
_PARKING = frozenset({NodeKind.WAIT, NodeKind.ASK, NodeKind.APPROVAL})


def lint_files(
    files: Mapping[str, bytes | str], known: Known | None = None
) -> tuple[dict[str, Flow], list[Problem]]:
    """Read and check the flow files of a pack; returns the flows by id, and the problems."""
    problems = Problems()
    flows = [load_flow(data, name, problems) for name, data in sorted(files.items())]
    by_id = check_flows([flow for flow in flows if flow is not None], known or Known(), problems)
    return by_id, problems.in_order()


def refuse(problems: Sequence[Problem]) -> None:
    """Raise InvalidPack for the first error, if there is one."""
    for problem in problems:
        if problem.severity is Severity.ERROR:
            raise InvalidPack(
                str(problem),
                problem=problem.code,
                file=problem.file,
                line=problem.line,
                column=problem.column,
            )


def check_flows(flows: Iterable[Flow], known: Known, problems: Problems) -> dict[str, Flow]:
    """Check flows of a pack together; returns them by id."""
    by_id: dict[str, Flow] = {}
    for flow in flows:
        first = by_id.setdefault(flow.id, flow)
        if first is not flow:
            message = f"the flow `{flow.id}` is in {first.file} already"
            problems.add("duplicate_id", flow.node.entries["id"], message)
    variables = vars_of(by_id.values())
    entered = _entered(by_id)
    for flow in by_id.values():
        _check_shape(flow, entered.get(flow.id, set()), problems)
        for node in flow.nodes.values():
            _check_node(flow, node, known, problems)
        check_references(flow, by_id, known, problems)
        check_scope(flow, by_id, known, variables, problems)
    _check_waits(by_id, problems)
    check_recursion(by_id, problems)
    check_loops(by_id, problems)
    return by_id


def _entered(flows: Mapping[str, Flow]) -> dict[str, set[str]]:
    """Return the nodes at which flows are entered by `goto`."""
    found: dict[str, set[str]] = {}
    for flow in flows.values():
        for node in flow.nodes.values():
            if (target := graph.goto_target(flows, node)) is not None:
                found.setdefault(target[0], set()).add(target[1])
    return found


def _check_shape(flow: Flow, entered: set[str], problems: Problems) -> None:
    if flow.start not in flow.nodes:
        place = flow.start_node or flow.node
        message = f"there is no node `{flow.start}` to start at"
        problems.add("unknown_node", place, message, did_you_mean(flow.start, flow.nodes))
        return
    for node in flow.nodes.values():
        for edge in graph.edges(node):
            if edge.to.name not in flow.nodes and edge.to.name != END:
                message = f"there is no node `{edge.to.name}`"
                hint = did_you_mean(edge.to.name, [*flow.nodes, END])
                problems.add("unknown_node", edge.to.node, message, hint)
    live = graph.reachable({flow.start, *entered}, graph.successors(flow))
    for node in flow.nodes.values():
        if node.id not in live:
            message = f"no path leads from the start to node `{node.id}`"
            problems.add("unreachable_node", node.key, message, "route to it, or remove it")


def _check_node(flow: Flow, node: FlowNode, known: Known, problems: Problems) -> None:
    if node.kind not in known.kinds:
        message = f"this host does not run `{node.kind}` nodes"
        problems.add("not_supported", node.key, message)
    _check_out(node, problems)
    _check_effects(node, problems)
    if isinstance(node.action, Parallel):
        _check_join(node, node.action, problems)
    if isinstance(node.action, Approval):
        _check_need(node, node.action, problems)
    if node.kind in _TALKING and flow.type not in CONVERSING:
        message = f"a {flow.type} flow has no conversation, so it cannot `{node.kind}`"
        hint = "use an `approval`, or make the flow `messaging`"
        problems.add("wait_not_allowed", node.key, message, hint)


def _check_out(node: FlowNode, problems: Problems) -> None:
    if not node.out:
        return
    always = [route.when is None or route.when.expression.text == "true" for route in node.out]
    if not any(always):
        message = f"node `{node.id}` has nowhere to go if no condition is true"
        hint = "add `- {to: NODE}` or `- {to: end}` as the last route"
        problems.add("no_otherwise", node.node.entries["out"], message, hint)
    for (_, was_always), (route, _) in pairwise(zip(node.out, always, strict=True)):
        if was_always:
            message = "this route is never tried, since the one before it always applies"
            problems.add("unreachable_route", route.node, message, "move it up, or remove it")


def _check_effects(node: FlowNode, problems: Problems) -> None:
    entries = node.node.keys

    def warn(key: str, why: str, hint: str = "") -> None:
        message = f"`{key}` of node `{node.id}` does nothing: {why}"
        problems.add("no_effect", entries[key], message, hint)

    if "retry" in entries and node.kind in _INSTANT | _PARKING:
        warn("retry", f"{article(node.kind)} is not tried again")
    if "timeout" in entries and node.kind in _PARKING:
        warn("timeout", "how long it waits is a part of its kind", f"move it into `{node.kind}`")
    elif "timeout" in entries and node.kind in _INSTANT:
        warn("timeout", f"{article(node.kind)} takes no time")
    if "out" in entries and isinstance(node.action, Goto | End) and node.when is None:
        warn("out", f"the flow leaves at {article(node.kind)}")
    inside: Node | None = node.node.get(node.kind.value)
    if inside is None or "on_timeout" not in inside.keys or "timeout" in inside.keys:
        return
    message = f"`on_timeout` of node `{node.id}` does nothing without a `timeout`"
    problems.add("no_effect", inside.keys["on_timeout"], message, "add a `timeout`")


def _check_join(node: FlowNode, action: Parallel, problems: Problems) -> None:
    inside = node.node.entries[NodeKind.PARALLEL.value]
    count = len(action.branches)
    if action.join is Join.QUORUM and action.k is None:
        message = f"node `{node.id}` needs `k`, the size of its quorum"
        problems.add("missing_key", inside, message, f"add `k`, from 1 to {count}")
    elif action.join is Join.QUORUM and action.k is not None and action.k > count:
        message = f"{action.k} branches of node `{node.id}` must succeed, and it has {count}"
        problems.add("impossible_join", inside.entries["k"], message)
    elif action.join is not Join.QUORUM and action.k is not None:
        message = f"`k` of node `{node.id}` does nothing: its join is `{action.join}`"
        problems.add("no_effect", inside.keys["k"], message, "write `join: quorum`")


def _check_need(node: FlowNode, action: Approval, problems: Problems) -> None:
    count = len(action.approvers)
    if count and action.need > count:
        message = f"{action.need} people must approve node `{node.id}`, and it names {count}"
        place = node.node.entries[NodeKind.APPROVAL.value].entries["need"]
        problems.add("impossible_need", place, message)


def waiting_flows(flows: Mapping[str, Flow], kinds: frozenset[NodeKind]) -> set[str]:
    """Return the flows that have nodes of some kinds, themselves or in flows that they run."""
    found = {
        flow.id
        for flow in flows.values()
        if any(node.kind in kinds for node in flow.nodes.values())
    }
    more = True
    while more:
        more = False
        for flow in flows.values():
            if flow.id not in found and graph.next_flows(flow) & found:
                found.add(flow.id)
                more = True
    return found


def _check_waits(flows: Mapping[str, Flow], problems: Problems) -> None:
    """Report flows that wait where no user can answer."""
    talking = waiting_flows(flows, _TALKING)
    parking = waiting_flows(flows, _PARKING)
    for flow in flows.values():
        for node in flow.nodes.values():
            branching = isinstance(node.action, Parallel | Each)
            for work in graph.work_of(node):
                if not isinstance(work, SubFlow):
                    continue
                place = work.flow.node
                if branching and work.flow.name in parking:
                    message = f"the flow `{work.flow}` waits, and a branch cannot"
                    problems.add("wait_not_allowed", place, message)
                elif work.flow.name in talking and flow.type not in CONVERSING:
                    message = (
                        f"the flow `{work.flow}` waits for messages, and a {flow.type} flow has "
                        "no conversation"
                    )
                    problems.add("wait_not_allowed", place, message)
