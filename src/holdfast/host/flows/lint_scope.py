"""Lint of expressions: paths that do not exist, and values of the wrong type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from holdfast.host.flows import graph
from holdfast.host.flows.expressions import Expression
from holdfast.host.flows.fields import Of, Ref, declarations
from holdfast.host.flows.known import Known
from holdfast.host.flows.model import (
    ACTIONS,
    Call,
    Condition,
    Each,
    Emit,
    Flow,
    FlowNode,
    Parallel,
    SetVars,
    SubFlow,
)
from holdfast.host.flows.problems import Problems, article
from holdfast.host.flows.scopes import SILENT, base_scope, output_of
from holdfast.host.flows.syntax import HAS, Index, Literal, Name, Select, Tree
from holdfast.host.flows.syntax import Call as CallTree
from holdfast.host.flows.templates import Template, Text, Value, offset_of
from holdfast.host.flows.types import ANY, Checker, Type, joined, of_schema, of_value
from holdfast.host.yaml_source import Node, Position
from holdfast.model.hints import did_you_mean

#: What `| default(...)` is for.
_DEFAULTED = frozenset({"missing_path", "unknown_var", "node_has_not_run"})


def vars_of(flows: Iterable[Flow]) -> dict[str, Type]:
    """Return the session variables that flows declare or set, which all flows share."""
    given: dict[str, list[Type]] = {}
    schemas: dict[str, Any] = {}
    for flow in flows:
        for name, var in flow.vars.items():
            types = given.setdefault(name, [])
            if var.schema is not None:
                schemas[name] = var.schema
            elif var.has_default:
                types.append(_shallow(of_value(var.default)))
        for node in flow.nodes.values():
            values = dict(node.set)
            if isinstance(node.action, SetVars):
                values |= node.action.values
            for name, value in values.items():
                given.setdefault(name, []).append(_constant_type(value))
    return {
        name: of_schema(schemas[name]) if name in schemas else joined(types)
        for name, types in given.items()
    }


def _constant_type(value: Value) -> Type:
    tree = value.tree
    if isinstance(tree, Text):
        return ANY if tree.single else Type("string")
    return _shallow(of_value(tree)) if not isinstance(tree, dict | list) else ANY


def _shallow(found: Type) -> Type:
    """A default says what type a variable has, not which fields; null says nothing."""
    return ANY if found.name in {"null", "map", "list"} else found


def check_scope(
    flow: Flow,
    flows: Mapping[str, Flow],
    known: Known,
    variables: Mapping[str, Type],
    problems: Problems,
) -> None:
    """Check the expressions of a flow."""
    scope = base_scope(flow, variables, known)
    before = _Before(flow)
    coming = _coming(flow)
    for node in flow.nodes.values():
        own = _previous(flow, node, coming[node.id], known)
        checks = _NodeChecks(
            flow,
            node,
            before=before,
            scope=scope,
            known=known,
            flows=flows,
            problems=problems,
        )
        checks.check(own)


class _Before:
    """The nodes that can have run before each node of a flow; most flows never ask."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    @cached_property
    def _earlier(self) -> dict[str, set[str]]:
        nexts = graph.successors(self._flow)
        found: dict[str, set[str]] = {name: set() for name in nexts}
        for name, following in nexts.items():
            for later in graph.reachable(following, nexts):
                found[later].add(name)
        return found

    def __getitem__(self, node: str) -> set[str]:
        return self._earlier[node]


def _coming(flow: Flow) -> dict[str, list[tuple[FlowNode, str]]]:
    """Return what can come before each node, and why."""
    found: dict[str, list[tuple[FlowNode, str]]] = {name: [] for name in flow.nodes}
    for node in flow.nodes.values():
        for edge in graph.edges(node):
            if edge.to.name in found:
                found[edge.to.name].append((node, edge.why))
    return found


def _previous(flow: Flow, node: FlowNode, coming: list[tuple[FlowNode, str]], known: Known) -> Type:
    """Return the type of the output before a node, if only one node can come before it."""
    if len(coming) != 1 or node.id == flow.start:
        return ANY
    before, why = coming[0]
    if why != "out" or before.when is not None or before.kind in SILENT:
        return ANY
    return output_of(before, known)


class _NodeChecks:
    """Checks the expressions of one node."""

    def __init__(
        self,
        flow: Flow,
        node: FlowNode,
        *,
        before: _Before,
        scope: Mapping[str, Type],
        known: Known,
        flows: Mapping[str, Flow],
        problems: Problems,
    ) -> None:
        self._flow = flow
        self._node = node
        self._before = before
        self._scope = scope
        self._known = known
        self._flows = flows
        self._problems = problems
        self._has_run = False

    def check(self, previous: Type) -> None:
        """Check all expressions, those before the node runs and those after."""
        node = self._node
        scope = {**self._scope, "prev": previous}
        if node.when is not None:
            self._condition(node.when, scope)
        self._action(scope)
        self._has_run = True
        own = ANY if node.when or node.kind in SILENT else output_of(node, self._known)
        scope = {**self._scope, "prev": own}
        for name, value in node.set.items():
            self._variable(name, value, scope)
        for route in node.out:
            if route.when is not None:
                self._condition(route.when, scope)

    def _action(self, scope: Mapping[str, Type]) -> None:
        action = self._node.action
        if isinstance(action, Emit):
            for value in action.activities:
                self._value(value, scope)
        elif isinstance(action, SetVars):
            for name, value in action.values.items():
                self._variable(name, value, scope)
        elif isinstance(action, Parallel):
            for work in action.branches.values():
                self._work(work, scope)
        elif isinstance(action, Each):
            items = self._value(action.items, scope)
            if not items.fits("list"):
                message = f"`items` must be a list, not {items.word}"
                self._problems.add("type_mismatch", action.items.node, message)
            self._work(action.do, {**scope, action.as_: items.item or ANY})
        elif isinstance(action, Call | SubFlow):
            self._work(action, scope)
        else:
            self._declared(action, scope)

    def _declared(self, action: Any, scope: Mapping[str, Type]) -> None:
        for name, field in declarations(ACTIONS[action.kind]).items():
            value = getattr(action, name, None)
            if isinstance(value, Value):
                found = self._value(value, scope)
                if field.of is Of.VALUE and not found.fits(field.type):
                    message = f"`{name}` must be a {field.type}, not {found.word}"
                    self._problems.add("type_mismatch", value.node, message)
            elif isinstance(value, Text):
                self._text(value, scope)
            elif isinstance(value, tuple | dict):
                for item in value.values() if isinstance(value, dict) else value:
                    if isinstance(item, Text):
                        self._text(item, scope)

    def _work(self, work: Call | SubFlow, scope: Mapping[str, Type]) -> None:
        found = of_value({}) if work.input is None else self._value(work.input, scope)
        schema = None
        if isinstance(work, SubFlow):
            target = self._flows.get(work.flow.name)
            schema = target.input if target else None
            ref = work.flow
        else:
            operations = (self._known.components or {}).get(work.component.name, {})
            operation = operations.get(work.operation.name)
            schema = operation.input if operation else None
            ref = work.operation
        self._fits(found, schema, work.input.node if work.input else ref.node, ref)

    def _fits(self, found: Type, schema: Any, node: Node, ref: Ref) -> None:
        """Report an input that a schema refuses for sure."""
        if not isinstance(schema, dict) or found.name == "any":
            return
        wanted = of_schema(schema)
        if not found.fits(wanted.name):
            message = f"`{ref}` takes {wanted.word}, not {found.word}"
            self._problems.add("type_mismatch", node, message)
            return
        if found.name != "map":
            return
        required = schema.get("required")
        for name in required if isinstance(required, list) else []:
            if name not in found.fields and found.closed:
                message = f"the input of `{ref}` needs `{name}`"
                self._problems.add("missing_key", node, message)
        for name, one in found.fields.items():
            place = node.entries.get(name, node)
            if name in wanted.fields and not one.fits(wanted.fields[name].name):
                message = f"`{name}` of `{ref}` must be {wanted.fields[name].word}, not {one.word}"
                self._problems.add("type_mismatch", place, message)
            elif name not in wanted.fields and wanted.closed:
                message = f"the input of `{ref}` has no `{name}`"
                hint = did_you_mean(name, wanted.fields)
                self._problems.add("unknown_key", node.keys.get(name, node), message, hint)

    def _variable(self, name: str, value: Value, scope: Mapping[str, Type]) -> None:
        found = self._value(value, scope)
        wanted = self._scope["vars"].fields.get(name, ANY)
        if not found.fits(wanted.name) and found.name != "null":
            message = f"the variable `{name}` is {wanted.word}, not {found.word}"
            self._problems.add("type_mismatch", value.node, message)

    def _condition(self, condition: Condition, scope: Mapping[str, Type]) -> None:
        def report(code: str, offset: int, message: str, hint: str) -> None:
            place = condition.node.position_of(offset)
            self._problems.add(code, place, message, hint)

        expression = condition.expression
        types = self._visible(expression, scope)
        Checker(types, report).wants_bool(expression.tree, "a condition")
        self._check_nodes(expression, report)

    def _visible(self, expression: Expression, scope: Mapping[str, Type]) -> Mapping[str, Type]:
        """Leave the outputs that are reported here out of the types."""
        if "nodes" not in expression.names:
            return scope
        outputs = scope["nodes"].fields
        visible = {*self._before[self._node.id], self._node.id}
        kept = {name: found if name in visible else ANY for name, found in outputs.items()}
        return {**scope, "nodes": Type("map", fields=kept)}

    def _check_nodes(self, expression: Expression, report: Any) -> None:
        if "nodes" not in expression.names:
            return
        before = self._before[self._node.id]
        for part in _outside_has(expression.tree):
            name, offset = _node_of(part)
            if not name:
                continue
            other = self._flow.nodes.get(name)
            if other is None:
                hint = did_you_mean(name, self._flow.nodes)
                report("unknown_node", offset, f"there is no node `{name}`", hint)
            elif other.kind in SILENT:
                message = f"node `{name}` has no output: it is {article(other.kind)}"
                report("missing_path", offset, message, "")
            elif name not in before and not (self._has_run and name == self._node.id):
                message = f"node `{name}` cannot have run before node `{self._node.id}`"
                report("node_has_not_run", offset, message, "")

    def _value(self, value: Value, scope: Mapping[str, Type]) -> Type:
        return self._tree(value.tree, scope)

    def _tree(self, tree: Any, scope: Mapping[str, Type]) -> Type:
        if isinstance(tree, Text):
            return self._text(tree, scope)
        if isinstance(tree, dict):
            fields = {key: self._tree(item, scope) for key, item in tree.items()}
            return Type("map", fields=fields, closed=True)
        if isinstance(tree, list):
            items = [self._tree(item, scope) for item in tree]
            return Type("list", item=joined(items) if items else None)
        return of_value(tree)

    def _text(self, text: Text, scope: Mapping[str, Type]) -> Type:
        found = ANY
        for template in text.templates:
            if text.node is not None:
                found = self._template(template, text.node, scope)
        return found if text.single else Type("string")

    def _template(self, template: Template, node: Node, scope: Mapping[str, Type]) -> Type:
        types = [self._expression(template, node, scope, in_default=False)]
        if template.default is not None:
            types.append(self._expression(template, node, scope, in_default=True))
        found = joined(types)
        # A value of a template is JSON, in which times are text.
        return Type("string") if found.name in {"timestamp", "duration"} else found

    def _expression(
        self, template: Template, node: Node, scope: Mapping[str, Type], *, in_default: bool
    ) -> Type:
        covered = template.default is not None and not in_default

        def report(code: str, offset: int, message: str, hint: str) -> None:
            if covered and code in _DEFAULTED:
                return
            place: Position = offset_of(template, offset, node, in_default=in_default)
            self._problems.add(code, place, message, hint)

        expression = template.default if in_default else template.expression
        if expression is None:
            return ANY
        found = Checker(self._visible(expression, scope), report).check(expression.tree)
        self._check_nodes(expression, report)
        return found


def _node_of(part: Tree) -> tuple[str, int]:
    """Return the id in `nodes.ID` and `nodes['ID']`, and where it is."""
    if not isinstance(part, Select | Index) or not isinstance(part.operand, Name):
        return "", 0
    if part.operand.name != "nodes":
        return "", 0
    if isinstance(part, Select):
        return part.field, part.field_offset
    key = part.key
    is_name = isinstance(key, Literal) and isinstance(key.value, str)
    return (key.value, key.offset) if isinstance(key, Literal) and is_name else ("", 0)


def _outside_has(tree: Tree) -> list[Tree]:
    if isinstance(tree, CallTree) and tree.function == HAS and tree.target is None:
        return []
    return [tree, *(found for part in tree.parts for found in _outside_has(part))]
