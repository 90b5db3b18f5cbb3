"""Which budgets a flow spends from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.host.flows import graph
from holdfast.host.flows.model import Flow, Llm


def budgets_of(flows: Mapping[str, Flow], entries: Iterable[str]) -> list[str]:
    """Return the budgets that `llm` nodes name, in some flows and all that they lead to.

    A budget that a template names is not known before the node runs.
    """
    following = {name: graph.next_flows(flow) for name, flow in flows.items()}
    budgets = {
        node.action.budget.constant
        for name in graph.reachable(entries, following)
        for node in flows[name].nodes.values()
        if isinstance(node.action, Llm) and node.action.budget is not None
    }
    return sorted(name for name in budgets if name is not None)
