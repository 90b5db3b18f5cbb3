"""What is left of a flow: the nodes that can still run, and what they use.

A conversation that waits can continue on another revision if what is left is the same there. Nodes
that lie behind it do not count, nor do places in files, comments and the order of keys.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from holdfast.host.flows.model import (
    END,
    Approval,
    Ask,
    Call,
    Each,
    Flow,
    FlowNode,
    Goto,
    Llm,
    Parallel,
    Provider,
    SubFlow,
    Wait,
)
from holdfast.host.flows.progress import Frame
from holdfast.host.packs import Bundle, Pack

#: Keys of a flow file that say nothing about what it does, and those that are looked at one by one.
_ASIDE = frozenset({"nodes", "title", "description"})


class Remainder:
    """What is left of flows that wait, collected node by node."""

    def __init__(self, flows: Mapping[str, Flow], bundle: Bundle) -> None:
        self._flows = flows
        self._bundle = bundle
        #: What was found, by a name that is the same in every revision.
        self._parts: dict[str, Any] = {}

    def digest(self, frames: Sequence[Frame]) -> str | None:
        """Return the digest of what is left; None if a flow or its node does not exist."""
        for depth, frame in enumerate(frames):
            flow = self._flows.get(frame.flow)
            if flow is None or frame.node not in flow.nodes:
                return None
            if depth == len(frames) - 1:
                self._add_node(flow, frame.node)
            else:
                self._add_running(flow, flow.nodes[frame.node])
        places = [(frame.flow, frame.node) for frame in frames]
        encoded = msgspec.json.encode((places, self._parts), order="sorted")
        return hashlib.sha256(encoded).hexdigest()

    def _add_running(self, flow: Flow, node: FlowNode) -> None:
        """Add a node that runs a flow, and what follows; it enters the flow only to try again."""
        self._parts[f"running {flow.id} {node.id}"] = node.node.value
        if node.retry is not None:
            self._add_node(flow, node.id)
        for name in _next(node):
            self._add_node(flow, name)

    def _add_node(self, flow: Flow, name: str) -> None:
        """Add a node and everything that it can reach."""
        waiting = [(flow, name)]
        while waiting:
            flow, name = waiting.pop()
            part = f"node {flow.id} {name}"
            if name == END or part in self._parts:
                continue
            node = flow.nodes[name]
            self._parts[part] = node.node.value
            for used in _actions(node):
                self._add_used(used)
                waiting += self._entered(used)
            waiting += [(flow, one) for one in _next(node)]

    def _entered(self, action: Any) -> Iterator[tuple[Flow, str]]:
        """Yield where a flow begins that an action enters, and add its variables and bounds."""
        if not isinstance(action, Goto | SubFlow):
            return
        flow = self._flows[action.flow.name]
        head = {key: one for key, one in flow.node.value.items() if key not in _ASIDE}
        self._parts[f"flow {flow.id}"] = head
        start = action.node.name if isinstance(action, Goto) and action.node else flow.start
        yield flow, start

    def _add_used(self, action: Any) -> None:
        if isinstance(action, Call):
            self._add_component(action.component.name)
        elif isinstance(action, Provider):
            _, provider = self._bundle.providers[action.type.name]
            self._parts[f"provider {provider.type}"] = asdict(provider)
            self._add_component(provider.component)
        elif isinstance(action, Llm):
            _, model = self._bundle.models[action.model.name]
            self._parts[f"model {model.name}"] = asdict(model)
            for tool in action.tools:
                self._add_component(tool.name.partition(".")[0])

    def _add_component(self, name: str) -> None:
        pack, component = self._bundle.components[name]
        self._parts[f"component {name}"] = (asdict(component), _files(pack, component.source))


def _files(pack: Pack, source: str) -> dict[str, str]:
    """Return the digests of a component's file and of those in its folder."""
    folder = posixpath.dirname(source)
    return {
        path: hashlib.sha256(data).hexdigest()
        for path, data in pack.files.items()
        if path == source or (folder and path.startswith(folder + "/"))
    }


def _next(node: FlowNode) -> Iterable[str]:
    """Return the nodes that can follow one in its flow."""
    yield from (route.to.name for route in node.out)
    if node.on_error is not None:
        yield node.on_error.name
    if isinstance(node.action, Wait | Ask | Approval) and node.action.on_timeout is not None:
        yield node.action.on_timeout.name


def _actions(node: FlowNode) -> Iterable[Any]:
    """Return the action of a node, and those of its branches."""
    yield node.action
    if isinstance(node.action, Parallel):
        yield from node.action.branches.values()
    elif isinstance(node.action, Each):
        yield node.action.do
