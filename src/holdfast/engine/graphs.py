"""Graphs: submit, extend, wait for, cancel and replay them."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from typing_extensions import override

from holdfast import api
from holdfast.engine.payloads import Payloads
from holdfast.engine.results import Endings
from holdfast.errors import InvalidGraph, InvalidInput, ResultNotReady
from holdfast.model import bounds, calls, checks
from holdfast.model.executions import NewExecution, Passed, result_of
from holdfast.model.graphs import (
    CancelledGraph,
    CancelPolicy,
    Edge,
    Graph,
    GraphPage,
    GraphState,
    GraphView,
    Join,
    NewGraph,
    Shape,
    SubmittedGraph,
    member_id,
)
from holdfast.model.listing import GraphFilter
from holdfast.model.states import State
from holdfast.store.queries import parse_cursor
from holdfast.store.store import Store

#: A cancel ends members in these states.
_ENDED_BY = {
    CancelPolicy.ALL: frozenset(state for state in State if not state.is_terminal),
    CancelPolicy.PENDING: frozenset({State.WAITING_CHILDREN, State.WAITING, State.DELAYED}),
}


class _GraphEndings(Endings[GraphState]):
    noun = "graph"

    async def _look(self, execution_id: str, *, process: str) -> GraphState | None:
        state, has_ended, _ = await self._store.graphs.watch(execution_id, process)
        return state if has_ended else None


class _GraphResults(Endings[tuple[GraphState, list[Passed] | None]]):
    noun = "graph"

    async def _look(
        self, execution_id: str, *, process: str
    ) -> tuple[GraphState, list[Passed] | None] | None:
        return await self._store.graphs.outcome(execution_id, process)


class _CancelEndings(Endings[GraphState]):
    noun = "cancel of graph"

    async def _look(self, execution_id: str, *, process: str) -> GraphState | None:
        state, has_ended, is_busy = await self._store.graphs.watch(execution_id, process)
        return state if has_ended or not is_busy else None


class Graphs(api.Graphs):
    """Operations on graphs."""

    def __init__(self, store: Store, payloads: Payloads) -> None:
        self._store = store
        self._payloads = payloads
        self._endings = _GraphEndings(store)
        self._outcomes = _GraphResults(store)
        self._cancels = _CancelEndings(store)

    async def close(self) -> None:
        """Stop listening for the ends of graphs."""
        await self._endings.close()
        await self._outcomes.close()
        await self._cancels.close()

    @override
    async def submit(
        self,
        members: Mapping[str, NewExecution],
        edges: Sequence[Edge] = (),
        joins: Mapping[str, Join] | None = None,
        **fields: Any,
    ) -> SubmittedGraph:
        new = NewGraph.of(Shape(members=members, edges=edges, joins=joins or {}), fields)
        async with self._stored(await self._completed(new.shape)) as shape:
            graph_id, version, duplicate = await self._store.graphs.create(new.with_shape(shape))
        ids = {key: member_id(graph_id, key) for key in members}
        return SubmittedGraph(id=graph_id, version=version, members=ids, duplicate=duplicate)

    @contextlib.asynccontextmanager
    async def _stored(self, shape: Shape) -> AsyncIterator[Shape]:
        """Yield a shape with its members' inputs in their stored form."""
        members = list(shape.members.values())
        async with self._payloads.stored_inputs(members) as items:
            if items is members:
                yield shape
            else:
                yield shape.with_members(dict(zip(shape.members, items, strict=True)))

    async def _completed(self, shape: Shape) -> Shape:
        """Complete a shape with the declarations of its members' tasks; raises InvalidInput.

        Inputs that receive results of upstreams are not complete yet, so they are not checked.
        """
        fed = {edge.target for edge in shape.edges if edge.input}
        items = [
            item.unchecked() if key in fed and item.check else item
            for key, item in shape.members.items()
        ]
        members: dict[str, NewExecution] = {}
        completed = await self._store.declarations.complete(items)
        for key, item in zip(shape.members, completed, strict=True):
            if isinstance(item, InvalidInput):
                prefix = f"members[{key}]."
                field = f"{prefix}{item.context.get('field')}"
                raise InvalidInput(prefix + item.message, field=field)
            members[key] = item
        return shape.with_members(members)

    @override
    async def _extend(self, graph_id: str, expected_version: int, shape: Shape) -> SubmittedGraph:
        for field, count in (("members", len(shape.members)), ("edges", len(shape.edges))):
            checks.integer(f"number of {field}", count, 0, bounds.GRAPH_GROWTH)
        if not shape.members and not shape.edges:
            message = "graph: has nothing to add"
            raise InvalidGraph(message, field="graph", problem="nothing_to_add")
        graph, _ = await self._store.graphs.describe(graph_id)
        shape = shape.of_tenant(graph.tenant).spending(graph.budgets)
        version, known = await self._store.graphs.members(graph_id)
        # Otherwise the store refuses it, with a more detailed message.
        if version == expected_version and graph.completed_at is None:
            taken = sorted(set(shape.members) & set(known))
            if taken:
                message = f"graph {graph_id} already has a member {taken[0]}"
                problem = "duplicate_member"
                raise InvalidGraph(message, field="members", problem=problem, member=taken[0])
            shape.check(known, [edge for member in known.values() for edge in member.edges])
        async with self._stored(await self._completed(shape)) as stored:
            version = await self._store.graphs.extend(graph_id, expected_version, stored)
        ids = {key: member_id(graph_id, key) for key in shape.members}
        return SubmittedGraph(id=graph_id, version=version, members=ids)

    @override
    async def _version(self, graph_id: str) -> int:
        graph, _ = await self._store.graphs.describe(graph_id)
        return graph.version

    @override
    async def cancel(
        self,
        graph_id: str,
        *,
        policy: str = CancelPolicy.ALL,
        reason: str = "",
        wait_s: float | None = None,
    ) -> CancelledGraph:
        _id(graph_id)
        chosen = CancelPolicy(checks.one_of("policy", policy, list(CancelPolicy)))
        checks.text("reason", reason, bounds.REASON_CHARS)
        if wait_s is not None:
            checks.number("wait_s", wait_s, 0, bounds.DURATION_MS / 1000)
        cancelled = await self._store.graphs.cancel(graph_id, chosen, reason)
        if wait_s is None:
            return CancelledGraph(state=GraphState.CANCELLED, cancelled=cancelled)
        failed = []
        try:
            if chosen is not CancelPolicy.LEAVE:
                await self._cancels.wait(graph_id, wait_s)
        except ResultNotReady:
            _, members = await self._store.graphs.members(graph_id)
            failed = [m.id for m in members.values() if m.state in _ENDED_BY[chosen]]
        graph, _ = await self._store.graphs.describe(graph_id)
        return CancelledGraph(state=graph.state, cancelled=graph.cancelled, failed=failed)

    @override
    async def replay(self, graph_id: str, *, reason: str = "") -> None:
        checks.text("reason", reason, bounds.REASON_CHARS)
        await self._store.graphs.replay(_id(graph_id), reason)

    @override
    async def describe(self, graph_id: str) -> GraphView:
        (graph, events), (_, members) = await asyncio.gather(
            self._store.graphs.describe(_id(graph_id)), self._store.graphs.members(graph_id)
        )
        return GraphView(graph=graph, members=members, events=events)

    @override
    async def owner(self, graph_id: str) -> str:
        graph, _ = await self._store.graphs.describe(_id(graph_id))
        return graph.tenant

    @override
    async def outcome(self, graph_id: str) -> GraphState | None:
        return await self._endings.outcome(_id(graph_id))

    @override
    async def wait(self, graph_id: str, *, timeout_s: float | None = None) -> GraphState:
        calls.check_patience(timeout_s)
        return await self._endings.wait(_id(graph_id), timeout_s)

    @override
    async def results(
        self, graph_id: str, keys: Sequence[str] | None = None, *, timeout_s: float | None = None
    ) -> dict[str, bytes]:
        if keys is not None:
            return await super().results(graph_id, keys, timeout_s=timeout_s)
        calls.check_patience(timeout_s)
        _, leaves = await self._outcomes.wait(_id(graph_id), timeout_s)
        if leaves is None:
            # It has too many members for one answer, or did not complete.
            return await super().results(graph_id)
        found: dict[str, bytes] = {}
        for leaf, outcome in zip(leaves, await self._payloads.outcomes(leaves), strict=True):
            if outcome is None:
                raise _reopened(leaf.id)
            if outcome.state is State.COMPLETED:
                found[leaf.name] = result_of(outcome)
        return found

    @override
    async def _result(self, execution_id: str) -> bytes:
        outcome = await self._payloads.outcome(execution_id)
        if outcome is None:
            raise _reopened(execution_id)
        return result_of(outcome)

    @override
    async def _page(self, wanted: GraphFilter, limit: int, cursor: str | None) -> GraphPage:
        tenant, state = wanted.tenant, wanted.state
        stamp, partition = parse_cursor(cursor)
        replies = await asyncio.gather(
            *(
                self._store.graphs.page_in(tag, tenant, state, stamp + (n > partition), limit)
                for n, tag in enumerate(self._store.tags())
            )
        )
        rows: list[list[tuple[int, int, Graph]]] = [
            [(-born, n, graph) for born, graph in found] for n, (found, _) in enumerate(replies)
        ]
        merged = list(heapq.merge(*rows, key=lambda row: row[:2]))
        shown = merged[:limit]
        more = len(merged) > limit or any(more for _, more in replies)
        last = f"{-shown[-1][0]}.{shown[-1][1]}" if shown and more else None
        return GraphPage(items=[graph for _, _, graph in shown], next_cursor=last)


def _reopened(execution_id: str) -> ResultNotReady:
    """A replay has started a member again in the meantime."""
    return ResultNotReady(f"execution {execution_id} has not ended", id=execution_id)


def _id(graph_id: str) -> str:
    return checks.execution_id("id", graph_id)
