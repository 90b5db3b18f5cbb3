"""What the expressions of a flow use: outputs, the time, the state of the session."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from holdfast.errors import InvalidPack
from holdfast.host.flows.expressions import Expression
from holdfast.host.flows.model import Condition, Flow, FlowNode, Route
from holdfast.host.flows.syntax import Index, Literal, Name, Select, Tree
from holdfast.host.flows.templates import Text, Value


def expressions_of(node: FlowNode) -> Iterator[Expression]:
    """Yield all expressions of a node."""
    waiting: list[Any] = [node.action, node.when, *node.set.values(), *node.out]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Condition):
            yield one.expression
        elif isinstance(one, Route):
            waiting.append(one.when)
        elif isinstance(one, Text):
            for template in one.templates:
                yield template.expression
                if template.default is not None:
                    yield template.default
        elif isinstance(one, Value):
            waiting.extend(one.texts())
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, tuple | list):
            waiting.extend(one)
        else:
            waiting.extend(getattr(one, name) for name in _fields(one.__class__))


@cache
def _fields(kind: type) -> tuple[str, ...]:
    is_dataclass = dataclasses.is_dataclass(kind)
    return tuple(field.name for field in dataclasses.fields(kind)) if is_dataclass else ()


@dataclass(frozen=True, slots=True)
class Uses:
    """What the expressions of a node use."""

    #: The nodes whose outputs they use; None if that is not known.
    outputs: frozenset[str] | None
    #: Whether they use the time.
    time: bool
    #: Names of the tenant's and of the session's state.
    tenant_state: frozenset[str]
    session_state: frozenset[str]


def uses_of(node: FlowNode) -> Uses:
    """Return what a node uses."""
    outputs: set[str] | None = set()
    uses_time = False
    state: dict[str, set[str]] = {"tenant": set(), "session": set()}
    for expression in expressions_of(node):
        names = expression.names
        uses_time = uses_time or "now" in names
        if "nodes" in names and outputs is not None:
            found = _outputs(expression.tree)
            outputs = None if found is None else outputs | found
        if "state" in names:
            for owner, name in _state(expression.tree):
                state.setdefault(owner, set()).add(name)
    kept = None if outputs is None else frozenset(outputs)
    return Uses(kept, uses_time, frozenset(state["tenant"]), frozenset(state["session"]))


def outputs_used(uses: Iterable[Uses]) -> set[str] | None:
    """Return the nodes whose outputs any node of a flow uses; None if that is not known."""
    found: set[str] = set()
    for one in uses:
        if one.outputs is None:
            return None
        found |= one.outputs
    return found


def refuse_tenant_state(flows: Mapping[str, Flow], uses: Mapping[tuple[str, str], Uses]) -> None:
    """Raise InvalidPack for the first node that uses the state of tenants."""
    for (flow, node), one in uses.items():
        if one.tenant_state:
            position = flows[flow].nodes[node].key.position
            message = f"{position}: this host has no state of tenants"
            raise InvalidPack(message, problem="not_supported", file=position.file)


def _outputs(tree: Tree) -> set[str] | None:
    found: list[str] = []
    bare = 0
    for part in tree.walk():
        if isinstance(part, Name):
            bare += part.name == "nodes"
            continue
        if not isinstance(part, Select | Index) or not isinstance(part.operand, Name):
            continue
        if part.operand.name == "nodes":
            if isinstance(part, Select):
                found.append(part.field)
            elif isinstance(part.key, Literal):
                found.append(str(part.key.value))
    # `nodes` without the name of a node may mean all of them.
    return None if bare > len(found) else set(found)


def _state(tree: Tree) -> Iterator[tuple[str, str]]:
    for part in tree.walk():
        if isinstance(part, Select) and isinstance(part.operand, Select):
            owner = part.operand
            if isinstance(owner.operand, Name) and owner.operand.name == "state":
                yield owner.field, part.field
