"""Graphs, watched: a test sees when one is created or changes."""

from __future__ import annotations

from holdfast.model.graphs import CancelPolicy, NewGraph, Shape
from holdfast.store.domain import Partitioned
from holdfast.store.graphs import Graphs
from holdfast.testing.watching import Watch, Write


class WatchedGraphs(Graphs):
    """Transitions of graphs."""

    def __init__(self, store: Partitioned, watch: Watch) -> None:
        super().__init__(store)
        self._watch = watch

    async def create(self, new: NewGraph) -> tuple[str, int, bool]:
        """Create a graph; in a task it counts as a write of the task."""
        answer = await super().create(new)
        self._watch.changed.set()
        parent, _, _ = (new.id or "").rpartition("~")
        if parent:
            self._watch.wrote(Write(parent, "child", answer[0]))
        return answer

    async def extend(self, graph_id: str, version: int, shape: Shape) -> int:
        """Add members and edges."""
        answer = await super().extend(graph_id, version, shape)
        self._watch.changed.set()
        return answer

    async def cancel(self, graph_id: str, policy: CancelPolicy, reason: str) -> int:
        """Cancel a graph."""
        answer = await super().cancel(graph_id, policy, reason)
        self._watch.changed.set()
        return answer

    async def replay(self, graph_id: str, reason: str) -> None:
        """Run the failed part of a graph again."""
        await super().replay(graph_id, reason)
        self._watch.changed.set()
