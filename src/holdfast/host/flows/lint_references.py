"""Lint of names: flows, components, operations, models, providers, secrets, hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from holdfast.host.flows import graph
from holdfast.host.flows.fields import Ref
from holdfast.host.flows.known import Known
from holdfast.host.flows.model import (
    Approval,
    Call,
    Each,
    Flow,
    FlowNode,
    Goto,
    Http,
    Llm,
    Provider,
    SubFlow,
)
from holdfast.host.flows.problems import Problems, shown
from holdfast.host.flows.scopes import SCOPE
from holdfast.host.flows.templates import OPEN, Text
from holdfast.host.web.hosts import allows
from holdfast.model.hints import did_you_mean


class _References:
    """Checks the names of one flow."""

    def __init__(self, flows: Mapping[str, Flow], known: Known, problems: Problems) -> None:
        self._flows = flows
        self._known = known
        self._problems = problems

    def node(self, node: FlowNode) -> None:
        action = node.action
        for work in graph.work_of(node):
            self._work(work)
        if isinstance(action, Goto):
            self._goto(action)
        elif isinstance(action, Llm):
            self._one_of(action.model, self._known.models, "unknown_model", "model")
            for tool in action.tools:
                self._tool(tool)
        elif isinstance(action, Provider):
            self._provider(action)
        elif isinstance(action, Http):
            self._http(action)
        elif isinstance(action, Approval) and action.on_open is not None:
            self._address(action.on_open)
        elif isinstance(action, Each) and action.as_ in SCOPE:
            message = f"`as` cannot be `{action.as_}`, which is in scope already"
            place = node.node.entries["each"].entries["as"]
            self._problems.add("reserved_id", place, message)

    def _work(self, work: Call | SubFlow) -> None:
        if isinstance(work, SubFlow):
            self._flow(work.flow)
        else:
            self._operation(work.component.name, work.component, work.operation)

    def _flow(self, ref: Ref) -> None:
        known = {*self._flows, *self._known.flows}
        if self._known.is_whole and ref.name not in known:
            message = f"there is no flow `{shown(ref.name)}`"
            self._problems.add("unknown_flow", ref.node, message, did_you_mean(ref.name, known))

    def _goto(self, action: Goto) -> None:
        self._flow(action.flow)
        flow = self._flows.get(action.flow.name)
        if flow is not None and action.node is not None and action.node.name not in flow.nodes:
            message = f"the flow `{flow.id}` has no node `{shown(action.node.name)}`"
            hint = did_you_mean(action.node.name, flow.nodes)
            self._problems.add("unknown_node", action.node.node, message, hint)

    def _operation(self, component: str, ref: Ref, operation: Ref | None) -> bool:
        known = self._known.components
        if known is None or not self._one_of(
            ref, known, "unknown_component", "component", component
        ):
            return False
        if operation is None:
            return True
        if operation.name not in known[component]:
            message = f"the component `{component}` has no operation `{shown(operation.name)}`"
            hint = did_you_mean(operation.name, known[component])
            self._problems.add("unknown_operation", operation.node, message, hint)
            return False
        return True

    def _tool(self, tool: Ref) -> None:
        component, _, operation = tool.name.rpartition(".")
        self._operation(component, tool, Ref(operation, tool.node))

    def _provider(self, action: Provider) -> None:
        known = self._known.providers
        if not self._one_of(action.type, known, "unknown_provider", "provider") or known is None:
            return
        declared = known[action.type.name]
        if action.operation.name not in declared:
            message = f"the provider `{action.type}` has no operation `{action.operation}`"
            hint = did_you_mean(action.operation.name, declared)
            self._problems.add("unknown_operation", action.operation.node, message, hint)

    def _http(self, action: Http) -> None:
        for header in (action.headers or {}).values():
            if isinstance(header, Ref):
                self._one_of(header, self._known.secrets, "unknown_secret", "secret")
        self._address(action.url)

    def _address(self, url: Text) -> None:
        """Check a URL, as far as it is known before the flow runs."""
        node, first = url.node, url.parts[0]
        if node is None or not isinstance(first, str):
            return
        parts = urlsplit(first) if first.isprintable() and "[" not in first else None
        if parts is None or parts.scheme not in {"http", "https"} or not parts.netloc:
            message = f"`{shown(first)}` is not the URL of a web server"
            hint = "begin it with `https://`"
            self._problems.add("bad_url", node, message, hint)
            return
        whole = "/" in first.partition("//")[2] or OPEN not in node.value
        host, _, port = parts.netloc.rpartition("@")[2].lower().partition(":")
        port = port or ("443" if parts.scheme == "https" else "80")
        allowed = self._known.http_allow
        if whole and allowed is not None and not allows(allowed, host, port):
            message = f"the pack does not allow calls to `{shown(host)}`"
            hint = did_you_mean(host, allowed) or "add it to `http_allow` in pack.yaml"
            self._problems.add("host_not_allowed", node, message, hint)

    def _one_of(
        self, ref: Ref, known: Iterable[str] | None, code: str, what: str, name: str = ""
    ) -> bool:
        name = name or ref.name
        if known is None:
            return True
        names = set(known)
        if name in names:
            return True
        message = f"the pack declares no {what} `{shown(name)}`"
        hint = did_you_mean(name, names) or "declare it in pack.yaml"
        self._problems.add(code, ref.node, message, hint)
        return False


def check_references(
    flow: Flow, flows: Mapping[str, Flow], known: Known, problems: Problems
) -> None:
    """Check the names that a flow refers to."""
    references = _References(flows, known, problems)
    for node in flow.nodes.values():
        references.node(node)
