"""Graphs: submit, extend, wait, cancel, replay."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import StaleGraph
from holdfast.model import checks
from holdfast.model.calls import check_page
from holdfast.model.executions import NewExecution
from holdfast.model.graphs import (
    CancelledGraph,
    CancelPolicy,
    Edge,
    GraphPage,
    GraphState,
    GraphView,
    Join,
    Shape,
    SubmittedGraph,
    graph_failure,
)
from holdfast.model.listing import GraphFilter
from holdfast.model.states import State


class Graphs(ABC):
    """Operations on graphs."""

    @abstractmethod
    async def submit(
        self,
        members: Mapping[str, NewExecution],
        edges: Sequence[Edge] = (),
        joins: Mapping[str, Join] | None = None,
        **fields: Any,
    ) -> SubmittedGraph:
        """Create a graph, all or nothing. Further fields are those of NewGraph."""

    async def extend(
        self,
        graph_id: str,
        expected_version: int,
        *,
        members: Mapping[str, NewExecution] | None = None,
        edges: Sequence[Edge] = (),
        joins: Mapping[str, Join] | None = None,
    ) -> SubmittedGraph:
        """Add members and edges to a graph that has not ended.

        The check for cycles happens here, on the expected version; the store accepts the addition
        only if the graph still has that version.
        """
        checks.execution_id("id", graph_id)
        checks.integer("expected_version", expected_version, 1, 2**53)
        shape = Shape(members=members or {}, edges=edges, joins=joins or {})
        return await self._extend(graph_id, expected_version, shape)

    @abstractmethod
    async def _extend(self, graph_id: str, expected_version: int, shape: Shape) -> SubmittedGraph:
        """Add a shape to a graph."""

    async def grow(
        self,
        graph_id: str,
        *,
        members: Mapping[str, NewExecution] | None = None,
        edges: Sequence[Edge] = (),
        joins: Mapping[str, Join] | None = None,
    ) -> SubmittedGraph:
        """Extend the current version of the graph; retry if another process changed it first."""
        checks.execution_id("id", graph_id)
        shape = Shape(members=members or {}, edges=edges, joins=joins or {})
        while True:
            version = await self._version(graph_id)
            try:
                return await self._extend(graph_id, version, shape)
            except StaleGraph:
                continue

    @abstractmethod
    async def _version(self, graph_id: str) -> int:
        """Return the current version of a graph."""

    @abstractmethod
    async def cancel(
        self,
        graph_id: str,
        *,
        policy: str = CancelPolicy.ALL,
        reason: str = "",
        wait_s: float | None = None,
    ) -> CancelledGraph:
        """Cancel a graph. Once this returns, the store completes the cancellation by itself.

        With `wait_s` this returns when the cancelled members have ended, or names those that have
        not. Members that the policy leaves alone are not included.
        """

    @abstractmethod
    async def replay(self, graph_id: str, *, reason: str = "") -> None:
        """Run the failed members of a graph again, and those skipped because of them."""

    @abstractmethod
    async def describe(self, graph_id: str) -> GraphView:
        """Return a graph with its members, edges and history."""

    @abstractmethod
    async def owner(self, graph_id: str) -> str:
        """Return the tenant of a graph."""

    @abstractmethod
    async def outcome(self, graph_id: str) -> GraphState | None:
        """Return how a graph ended, or None if it has not."""

    @abstractmethod
    async def wait(self, graph_id: str, *, timeout_s: float | None = None) -> GraphState:
        """Wait until all members have ended; raise ResultNotReady when the time is over."""

    async def results(
        self, graph_id: str, keys: Sequence[str] | None = None, *, timeout_s: float | None = None
    ) -> dict[str, bytes]:
        """Wait for a graph and return results by key: of its leaves, unless `keys` are given.

        Members without a result are left out. Raises GraphFailed if the graph did not complete.
        """
        state = await self.wait(graph_id, timeout_s=timeout_s)
        view = await self.describe(graph_id)
        if state is not GraphState.COMPLETED:
            raise graph_failure(view)
        wanted = [member.key for member in view.leaves] if keys is None else keys
        done = [key for key in wanted if key in view.members]
        done = [key for key in done if view.members[key].state is State.COMPLETED]
        results = await asyncio.gather(*(self._result(view.members[key].id) for key in done))
        return dict(zip(done, results, strict=True))

    @abstractmethod
    async def _result(self, execution_id: str) -> bytes:
        """Return the result of a member that has completed."""

    async def list(
        self,
        *,
        tenant: str | None = None,
        state: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> GraphPage:
        """Return a page of graphs, newest first."""
        check_page(limit)
        return await self._page(GraphFilter(tenant=tenant, state=state), limit, cursor)

    @abstractmethod
    async def _page(self, wanted: GraphFilter, limit: int, cursor: str | None) -> GraphPage:
        """Return a page of graphs."""
