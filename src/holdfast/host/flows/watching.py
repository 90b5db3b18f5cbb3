"""Watching flows run: which nodes they enter, and by which ways they leave them."""

from __future__ import annotations

from typing import Protocol

from typing_extensions import override

from holdfast.host.flows.progress import FlowState

ON_ERROR = "on_error"
ON_TIMEOUT = "on_timeout"


def route(number: int) -> str:
    """Return the name of the way that a route of `out` is, counted from 0."""
    return f"out {number + 1}"


class Watcher(Protocol):
    """Sees what flows do. An attempt that runs from the journal is seen again."""

    def began(self, state: FlowState) -> None:
        """See that a conversation begins or continues; the state changes while it runs."""
        del state

    def entered(self, execution: str, flow: str, node: str) -> None:
        """See that a node is about to run."""
        ...

    def left(self, flow: str, node: str, way: str) -> None:
        """See by which way a flow leaves a node for another, or for `end`."""
        ...


class Nobody(Watcher):
    """Does not watch."""

    @override
    def began(self, state: FlowState) -> None:
        pass

    @override
    def entered(self, execution: str, flow: str, node: str) -> None:
        pass

    @override
    def left(self, flow: str, node: str, way: str) -> None:
        pass
