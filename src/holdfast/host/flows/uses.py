"""What the expressions of a flow use: outputs, the time, the state of the session."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from holdfast.host.flows.expressions import Expression
from holdfast.host.flows.model import Condition, Flow, FlowNode, Route
from holdfast.host.flows.syntax import Index, Literal, Name, Select, Tree
from holdfast.host.flows.templates import Text, Value


def expressions_of(node: FlowNode) -> Iterator[Expression]:  # noqa: C901 - one for each type
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
        elif dataclasses.is_dataclass(one) and not isinstance(one, type):
            waiting.extend(getattr(one, field.name) for field in dataclasses.fields(one))


def outputs_used(flow: Flow) -> set[str] | None:
    """Return the nodes whose outputs a flow uses; None if that is not known."""
    used: set[str] = set()
    for node in flow.nodes.values():
        for expression in expressions_of(node):
            if "nodes" not in expression.names:
                continue
            fields = list(fields_of(expression.tree, "nodes"))
            bare = sum(
                isinstance(part, Name) and part.name == "nodes" for part in expression.tree.walk()
            )
            if bare > len(fields):
                return None
            used |= set(fields)
    return used


def fields_of(tree: Tree, root: str) -> Iterator[str]:
    """Yield the fields of a variable that an expression names, such as `a` of `nodes.a`."""
    for part in tree.walk():
        if isinstance(part, Select) and isinstance(part.operand, Name):
            if part.operand.name == root:
                yield part.field
        elif isinstance(part, Index) and isinstance(part.operand, Name):
            key = part.key
            if part.operand.name == root and isinstance(key, Literal):
                yield str(key.value)


def state_used(node: FlowNode) -> tuple[set[str], set[str]]:
    """Return the names of the tenant's and of the session's state that a node uses."""
    names: dict[str, set[str]] = {"tenant": set(), "session": set()}
    for expression in expressions_of(node):
        if "state" not in expression.names:
            continue
        for part in expression.tree.walk():
            if not isinstance(part, Select) or not isinstance(part.operand, Select):
                continue
            owner = part.operand
            if isinstance(owner.operand, Name) and owner.operand.name == "state":
                names.setdefault(owner.field, set()).add(part.field)
    return names["tenant"], names["session"]


def uses_time(node: FlowNode) -> bool:
    """Return whether a node's expressions use the time."""
    return any("now" in expression.names for expression in expressions_of(node))
