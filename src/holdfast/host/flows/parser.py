"""Reads flow files. All problems of a file are reported, not only the first."""

from __future__ import annotations

from typing import Any

from holdfast.errors import InvalidPack
from holdfast.host.flows.fields import Of, Ref, declarations
from holdfast.host.flows.model import (
    ACTIONS,
    END,
    FLOW_KEYS,
    ID,
    ID_CHARS,
    ON_ERROR,
    OUT,
    RETRY,
    SET,
    SIBLINGS,
    TIMEOUT,
    WHEN,
    Action,
    Call,
    Emit,
    Flow,
    FlowNode,
    FlowType,
    Join,
    Limits,
    NodeKind,
    Retry,
    Route,
    SetVars,
    SubFlow,
    Var,
    Work,
)
from holdfast.host.flows.problems import Problems, shown
from holdfast.host.flows.values import Reader, word
from holdfast.host.yaml_source import Node, Position, load
from holdfast.model.hints import did_you_mean

#: How many nodes a flow may have, and how many activities one node may emit.
MAX_NODES = 1_000
MAX_ACTIVITIES = 50
_KINDS = tuple(kind.value for kind in NodeKind)
#: Parts of an activity. Others are passed on to the channel.
_ACTIVITY = ("text", "card", "data")


def load_flow(data: bytes | str, file: str, problems: Problems) -> Flow | None:
    """Read a flow file; None if it cannot be used at all."""
    try:
        root = load(data, file)
    except InvalidPack as error:
        place = Position(file, error.context.get("line", 1), error.context.get("column", 1))
        message = str(error).removeprefix(f"{place}: ")
        problems.add("invalid_yaml", place, message)
        return None
    return read_flow(root, problems)


def read_flow(root: Node, problems: Problems) -> Flow | None:
    """Read a flow; None if it cannot be used at all."""
    return _FlowReader(problems).flow(root)


class _FlowReader(Reader):
    """Reads a flow."""

    def flow(self, root: Node) -> Flow | None:
        if not self.mapping(root, "a flow"):
            return None
        self.keys(root, FLOW_KEYS, "a flow")
        for key in ("id", "nodes"):
            if key not in root.entries:
                self.problems.add("missing_key", root, f"a flow needs the key `{key}`")
        flow_id = self._id(root)
        flow_type = self._type(root)
        nodes = self._nodes(root)
        if flow_id is None or flow_type is None or not nodes:
            return None
        start = root.get("start")
        start_id = None if start is None else self.string(start, "`start`")
        internal, title = root.get("internal"), root.get("title")
        given = root.get("input")
        return Flow(
            id=flow_id,
            type=flow_type,
            nodes=nodes,
            start=start_id or next(iter(nodes)),
            internal=bool(internal and self.flag(internal, "`internal`")),
            title=(title and self.string(title, "`title`", empty=True)) or "",
            vars=self._vars(root),
            input=None if given is None else self.schema(given, "`input`"),
            limits=self._limits(root),
            file=root.source.file,
            node=root,
            start_node=start,
        )

    def _id(self, root: Node) -> str | None:
        node = root.get("id")
        text = None if node is None else self.string(node, "`id`")
        if text is None or node is None:
            return None
        if not ID.fullmatch(text) or len(text) > ID_CHARS:
            message = f"`{shown(text)}` is not the id of a flow"
            hint = "use small letters, digits, `_`, `.` and `-`, and begin with a letter"
            self.problems.add("bad_id", node, message, hint)
            return None
        return text

    def _type(self, root: Node) -> FlowType | None:
        node = root.get("type")
        if node is None:
            return FlowType.MESSAGING
        choices = tuple(one.value for one in FlowType)
        text = self.word(node, "the type of a flow", choices)
        return None if text is None else FlowType(text)

    def _vars(self, root: Node) -> dict[str, Var]:
        node = root.get("vars")
        if node is None or not self.mapping(node, "`vars`"):
            return {}
        found: dict[str, Var] = {}
        for name, item in node.entries.items():
            if not self.name(node, name, "a variable"):
                continue
            if item.kind != "mapping":
                message = f"the variable `{name}` must be a mapping, not {word(item)}"
                hint = f"write `{name}: {{default: {shown(item.value)}}}`"
                self.problems.add("not_a_mapping", item, message, hint)
                continue
            self.keys(item, declarations(Var), f"the variable `{name}`")
            schema = item.get("schema")
            found[name] = Var(
                default=item.value.get("default"),
                schema=schema and self.schema(schema, f"the schema of `{name}`"),
                has_default="default" in item.entries,
            )
        return found

    def _limits(self, root: Node) -> Limits:
        node = root.get("limits")
        if node is None:
            return Limits()
        return Limits(**(self.fields(node, declarations(Limits), "`limits`") or {}))

    def _nodes(self, root: Node) -> dict[str, FlowNode]:
        node = root.get("nodes")
        if node is None or not self.mapping(node, "`nodes`"):
            return {}
        if not node.entries:
            self.problems.add("no_nodes", node, "a flow needs at least one node")
        if len(node.entries) > MAX_NODES:
            message = f"a flow has at most {MAX_NODES} nodes, not {len(node.entries)}"
            self.problems.add("out_of_range", node, message)
            return {}
        found: dict[str, FlowNode] = {}
        for name, item in node.entries.items():
            if name == END:
                message = "a node cannot be called `end`, which ends the flow"
                self.problems.add("reserved_id", node.keys[name], message)
            elif self.name(node, name, "a node"):
                found[name] = self._node(node, name, item)
        return found

    def _node(self, nodes: Node, name: str, item: Node) -> FlowNode:
        action = self._action(name, item)
        timeout, on_error = item.get(TIMEOUT), item.get(ON_ERROR)
        when, retry = item.get(WHEN), item.get(RETRY)
        has_set = SET in item.entries and not isinstance(action, SetVars)
        what = f"node `{name}`"
        return FlowNode(
            id=name,
            action=action,
            out=self._routes(item, what),
            when=None if when is None else self.condition(when, f"`when` of {what}"),
            retry=None if retry is None else self._retry(retry, what),
            timeout=None if timeout is None else self.duration(timeout, f"`timeout` of {what}"),
            on_error=None if on_error is None else self.ref(on_error, f"`on_error` of {what}"),
            set=(self.variables(item.entries[SET], f"`set` of {what}") if has_set else None) or {},
            key=nodes.keys[name],
            node=item,
        )

    def _action(self, name: str, item: Node) -> Action:
        """Read what a node does; one that cannot be read does nothing, after its problems."""
        what = f"node `{name}`"
        nothing = SetVars()
        if not self.mapping(item, what):
            return nothing
        kinds = [key for key in item.entries if key in _KINDS]
        if len(kinds) > 1 and SET in kinds:
            kinds.remove(SET)
        self.keys(item, {*_KINDS, *SIBLINGS}, what)
        if not kinds:
            strange = [key for key in item.entries if key not in SIBLINGS]
            hint = did_you_mean(strange[0], _KINDS) if strange else "give it one, such as `emit`"
            if not strange:
                self.problems.add("no_kind", item, f"{what} has no kind", hint)
            return nothing
        if len(kinds) > 1:
            message = f"{what} has two kinds: `{kinds[0]}` and `{kinds[1]}`"
            hint = "make two nodes of it"
            self.problems.add("two_kinds", item.keys[kinds[1]], message, hint)
        kind = NodeKind(kinds[0])
        return self._of_kind(kind, item.entries[kind.value], f"`{kind}` of {what}") or nothing

    def _of_kind(self, kind: NodeKind, node: Node, what: str) -> Action | None:
        if kind is NodeKind.EMIT:
            return self._emit(node, what)
        if kind is NodeKind.SET:
            values = self.variables(node, what)
            return None if values is None else SetVars(values=values)
        if node.kind == "null" and kind in {NodeKind.WAIT, NodeKind.END}:
            made: Action = ACTIONS[kind]()
            return made
        found = self._specials(node, kind, what)
        return None if found is None else ACTIONS[kind](**found)

    def _specials(self, node: Node, kind: NodeKind, what: str) -> dict[str, Any] | None:
        """Read declared fields, with those that hold nodes of their own."""
        declared = declarations(ACTIONS[kind])
        plain = {
            name: field
            for name, field in declared.items()
            if field.of not in {Of.BRANCHES, Of.WORK}
        }
        others = {name: field for name, field in declared.items() if name not in plain}
        if node.kind == "mapping":
            allowed = Node(
                node.value,
                node.source,
                node.line,
                node.column,
                entries={key: item for key, item in node.entries.items() if key not in others},
                keys={key: item for key, item in node.keys.items() if key not in others},
            )
            self.keys(node, declared, what)
            found = self.fields(allowed, plain, what)
        else:
            self.mapping(node, what)
            return None
        for name in others:
            item = node.get(name)
            if item is None:
                self.problems.add("missing_key", node, f"{what} needs the key `{name}`")
                found = None
                continue
            read: Any = self._branches(item, what) if name == "branches" else self._work(item, what)
            if read is None:
                found = None
            elif found is not None:
                found[name] = read
        if found is None:
            return None
        if kind is NodeKind.EACH and "as" in found:
            found["as_"] = found.pop("as")
        if kind is NodeKind.PARALLEL and "join" in found:
            found["join"] = Join(found["join"])
        if kind is NodeKind.GOTO and "node" in found:
            found["node"] = Ref(found["node"], node.entries["node"])
        return found

    def _emit(self, node: Node, what: str) -> Emit | None:
        items = node.items if node.kind == "list" else (node,)
        if len(items) > MAX_ACTIVITIES:
            message = f"{what} has at most {MAX_ACTIVITIES} activities, not {len(items)}"
            self.problems.add("out_of_range", node, message)
            return None
        values = []
        for item in items:
            if item.kind == "text":
                message = f"{what} must be a mapping, not text"
                self.problems.add("not_a_mapping", item, message, "write `emit: {text: ...}`")
                continue
            if not self.mapping(item, what):
                continue
            if not any(key in item.entries for key in _ACTIVITY):
                message = f"{what} has none of `text`, `card` and `data`"
                close = next((did_you_mean(key, _ACTIVITY) for key in item.entries), "")
                self.problems.add("missing_key", item, message, close)
            text = item.get("text")
            if text is not None and not isinstance(text.value, str):
                self.text(text, f"`text` of {what}")
                continue
            value = self.value(item)
            if value is not None:
                values.append(value)
        if not items:
            self.problems.add("missing_key", node, f"{what} has no activities")
        return Emit(activities=tuple(values))

    def _branches(self, node: Node, what: str) -> dict[str, Work] | None:
        if not self.mapping(node, f"`branches` of {what}"):
            return None
        found: dict[str, Work] = {}
        for name, item in node.entries.items():
            if self.name(node, name, "a branch"):
                work = self._work(item, f"branch `{name}` of {what}")
                if work is not None:
                    found[name] = work
        if not node.entries:
            self.problems.add("missing_key", node, f"{what} has no branches")
        most = 64
        if len(node.entries) > most:
            self.problems.add("out_of_range", node, f"{what} has more than {most} branches")
        return found or None

    def _work(self, node: Node, what: str) -> Work | None:
        if not self.mapping(node, what):
            return None
        kinds = (NodeKind.CALL.value, NodeKind.FLOW.value)
        self.keys(node, kinds, what)
        given = [key for key in node.entries if key in kinds]
        if len(given) != 1:
            message = f"{what} must be one `call` or one `flow`"
            self.problems.add("no_kind" if not given else "two_kinds", node, message)
            return None
        cls = Call if given[0] == NodeKind.CALL else SubFlow
        found = self.fields(node.entries[given[0]], declarations(cls), f"`{given[0]}` of {what}")
        return None if found is None else cls(**found)

    def _retry(self, node: Node, what: str) -> Retry | None:
        found = self.fields(node, declarations(Retry), f"`retry` of {what}")
        return None if found is None else Retry(**found)

    def _routes(self, item: Node, what: str) -> tuple[Route, ...]:
        node = item.get(OUT)
        if node is None:
            return ()
        if isinstance(node.value, str):
            to = self.ref(node, f"`out` of {what}")
            return () if to is None else (Route(to=to, node=node),)
        if node.kind == "mapping":
            self.problems.add(
                "wrong_type", node, f"`out` of {what} must be a node id or a list", "put it in `[]`"
            )
            return ()
        if node.kind != "list":
            message = f"`out` of {what} must be a node id or a list, not {word(node)}"
            self.problems.add("wrong_type", node, message)
            return ()
        routes = [self._route(one, what) for one in node.items]
        if not routes:
            message = f"`out` of {what} is an empty list"
            self.problems.add("no_otherwise", node, message, "write `out: end` to end the flow")
        return tuple(route for route in routes if route is not None)

    def _route(self, node: Node, what: str) -> Route | None:
        if not self.mapping(node, f"a route of {what}"):
            return None
        self.keys(node, ("when", "to"), f"a route of {what}")
        to_node, when_node = node.get("to"), node.get("when")
        if to_node is None:
            self.problems.add("missing_key", node, f"a route of {what} needs the key `to`")
            return None
        to = self.ref(to_node, f"`to` of {what}")
        when = None if when_node is None else self.condition(when_node, f"`when` of {what}")
        if to is None or (when_node is not None and when is None):
            return None
        return Route(to=to, when=when, node=node)
