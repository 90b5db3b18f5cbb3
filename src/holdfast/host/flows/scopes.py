"""What expressions can refer to, and the types of it."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.host.flows.known import Known
from holdfast.host.flows.model import (
    Approval,
    Ask,
    Call,
    Each,
    Flow,
    FlowNode,
    Http,
    Llm,
    NodeKind,
    Parallel,
)
from holdfast.host.flows.types import ANY, Type, of_schema

_TEXT = Type("string")
_OPEN = Type("map")
ACTIVITY = ("id", "endpoint", "conversation", "user", "kind")
STATE = ("tenant", "session")

#: Names in scope of every node.
SCOPE: dict[str, Type] = {
    "input": ANY,
    "activity": Type("map", fields=dict.fromkeys(ACTIVITY, _TEXT), closed=True),
    "user": _OPEN,
    "prev": ANY,
    "nodes": _OPEN,
    "vars": _OPEN,
    "state": Type("map", fields=dict.fromkeys(STATE, _OPEN), closed=True),
    "now": Type("timestamp"),
    "tenant": _TEXT,
    "env": _TEXT,
}

#: What an approval returns.
DECISION = Type(
    "map",
    fields={"approved": Type("bool"), "by": _TEXT, "data": ANY, "also": Type("list")},
    closed=True,
)
_OUTPUTS: dict[NodeKind, Type] = {
    NodeKind.LLM: Type(
        "map", fields={"text": _TEXT, "usage": _OPEN, "calls": Type("list")}, closed=True
    ),
    NodeKind.HTTP: Type(
        "map", fields={"status": Type("int"), "headers": _OPEN, "body": ANY}, closed=True
    ),
    NodeKind.EACH: Type("list"),
    NodeKind.APPROVAL: DECISION,
}


def output_of(node: FlowNode, known: Known) -> Type:  # noqa: PLR0911 - one for each kind
    """Return the type of a node's output."""
    action = node.action
    if isinstance(action, Ask):
        return of_schema(action.answer)
    if isinstance(action, Call):
        return _of_operation(action, known)
    if isinstance(action, Each):
        item = _of_operation(action.do, known) if isinstance(action.do, Call) else ANY
        return Type("list", item=item)
    if isinstance(action, Parallel):
        fields = {
            name: _of_operation(work, known) if isinstance(work, Call) else ANY
            for name, work in action.branches.items()
        }
        # With another join, branches may be missing.
        return Type("map", fields=fields, closed=True)
    if isinstance(action, Approval) and action.schema is not None:
        fields = {**DECISION.fields, "data": of_schema(action.schema)}
        return Type("map", fields=fields, closed=True)
    if isinstance(action, Llm | Http | Approval):
        return _OUTPUTS[node.kind]
    return ANY


def _of_operation(call: Call, known: Known) -> Type:
    if known.components is None:
        return ANY
    operation = known.components.get(call.component.name, {}).get(call.operation.name)
    return ANY if operation is None or operation.output is None else of_schema(operation.output)


def base_scope(flow: Flow, variables: Mapping[str, Type], known: Known) -> dict[str, Type]:
    """Return the types that are the same for all nodes of a flow."""
    outputs = {
        node.id: ANY if node.when else output_of(node, known) for node in flow.nodes.values()
    }
    return {
        **SCOPE,
        "input": ANY if flow.input is None else of_schema(flow.input),
        "nodes": Type("map", fields=outputs, closed=True),
        "vars": Type("map", fields=dict(variables), closed=True),
    }


#: Kinds without an output of their own; what follows them sees the output before.
SILENT = frozenset({NodeKind.EMIT, NodeKind.SET, NodeKind.GOTO, NodeKind.END})
