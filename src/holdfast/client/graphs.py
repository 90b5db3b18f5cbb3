"""Graphs over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.execution_bodies import body_of
from holdfast.client.executions import RemoteExecutions
from holdfast.client.http import EVERY_TENANT, Http, path
from holdfast.errors import ResultNotReady
from holdfast.model import calls, checks
from holdfast.model.executions import ExecutionId, NewExecution
from holdfast.model.graphs import (
    CancelledGraph,
    CancelPolicy,
    Edge,
    Graph,
    GraphPage,
    GraphState,
    GraphView,
    Join,
    Member,
    NewGraph,
    Shape,
    SubmittedGraph,
)
from holdfast.model.ids import new_id
from holdfast.model.listing import GraphFilter
from holdfast.model.states import State

#: The longest poll for the end; the next follows at once.
_WAIT_MS = 20_000
_MOST_WAIT_MS = 60_000


@final
class RemoteGraphs(api.Graphs):
    """Operations on graphs."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: The tenant that an operator key acts for.
        self._tenant = http.tenant
        self._executions = RemoteExecutions(http)

    @override
    async def submit(
        self,
        members: Mapping[str, NewExecution],
        edges: Sequence[Edge] = (),
        joins: Mapping[str, Join] | None = None,
        **fields: Any,
    ) -> SubmittedGraph:
        shape = Shape(members=members, edges=edges, joins=joins or {})
        # Errors in the graph are raised before it is sent.
        new = NewGraph.of(shape, fields)
        body = {**_shape_body(shape), **{k: v for k, v in fields.items() if v is not None}}
        if self._tenant is not None:
            body.setdefault("tenant", self._tenant)
        minted = new.id is None and new.idempotency_key is None
        if minted:
            # An id makes it safe to send again.
            body["id"] = f"g{new_id()}"
        reply = await self._http.post("/v1/graphs", body)
        return SubmittedGraph(
            id=reply["id"],
            version=reply["revision"],
            members=_ids(reply),
            duplicate=bool(reply.get("duplicate")) and not minted,
        )

    @override
    async def _extend(self, graph_id: str, expected_version: int, shape: Shape) -> SubmittedGraph:
        body = {"expected_revision": expected_version, **_shape_body(shape)}
        verb = "members"
        if not shape.members:
            verb, body = "edges", {k: v for k, v in body.items() if k not in {"members", "joins"}}
        reply = await self._http.post(_about(graph_id, verb), body, once=True)
        return SubmittedGraph(id=graph_id, version=reply["revision"], members=_ids(reply))

    @override
    async def _version(self, graph_id: str) -> int:
        return (await self.describe(graph_id)).graph.version

    @override
    async def cancel(
        self,
        graph_id: str,
        *,
        policy: str = CancelPolicy.ALL,
        reason: str = "",
        wait_s: float | None = None,
    ) -> CancelledGraph:
        body: dict[str, Any] = {"policy": policy, "reason": reason}
        wait_ms = 0
        if wait_s is not None:
            wait_ms = min(int(wait_s * 1000), _MOST_WAIT_MS)
            body |= {"wait": True, "wait_ms": wait_ms}
        response = await self._http.send(
            "POST", _about(graph_id, "cancel"), body=body, once=True, wait_s=wait_ms / 1000
        )
        reply = msgspec.json.decode(response.content)
        return CancelledGraph(
            state=GraphState(reply["state"]),
            cancelled=reply["cancelled"],
            failed=[ExecutionId(member) for member in reply.get("failed", ())],
        )

    @override
    async def replay(self, graph_id: str, *, reason: str = "") -> None:
        await self._http.post(_about(graph_id, "replay"), {"reason": reason}, once=True)

    @override
    async def describe(self, graph_id: str) -> GraphView:
        return await self._describe(graph_id, wait_ms=0)

    async def _describe(self, graph_id: str, *, wait_ms: int) -> GraphView:
        response = await self._http.send(
            "GET", _about(graph_id), query={"wait_ms": wait_ms or None}, wait_s=wait_ms / 1000
        )
        return _view(msgspec.json.decode(response.content))

    @override
    async def owner(self, graph_id: str) -> str:
        return (await self.describe(graph_id)).graph.tenant

    @override
    async def outcome(self, graph_id: str) -> GraphState | None:
        graph = (await self.describe(graph_id)).graph
        return None if graph.completed_at is None else graph.state

    @override
    async def wait(self, graph_id: str, *, timeout_s: float | None = None) -> GraphState:
        calls.check_patience(timeout_s)
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else loop.time() + timeout_s
        while True:
            left_ms = _WAIT_MS if deadline is None else int((deadline - loop.time()) * 1000)
            found = await self._describe(graph_id, wait_ms=max(0, min(_WAIT_MS, left_ms)))
            if found.graph.completed_at is not None:
                return found.graph.state
            if deadline is not None and loop.time() >= deadline:
                message = f"graph {graph_id} did not end within {timeout_s} s"
                raise ResultNotReady(message, id=graph_id)

    @override
    async def _result(self, execution_id: str) -> bytes:
        return await self._executions.result(execution_id)

    @override
    async def _page(self, wanted: GraphFilter, limit: int, cursor: str | None) -> GraphPage:
        whose = wanted.tenant or self._tenant or EVERY_TENANT
        reply = await self._http.get(
            "/v1/graphs", tenant=whose, state=wanted.state, limit=limit, cursor=cursor
        )
        items = [_graph(view) for view in reply["items"]]
        return GraphPage(items=items, next_cursor=reply["next_cursor"])


def _about(graph_id: str, *rest: str) -> str:
    return path("graphs", checks.execution_id("id", graph_id), *rest)


def _shape_body(shape: Shape) -> dict[str, Any]:
    return {
        "members": [_member_body(key, item) for key, item in shape.members.items()],
        "edges": [_edge_body(edge) for edge in shape.edges],
        "joins": {
            key: {"policy": join.policy, "k": join.k, "losers": join.losers}
            for key, join in shape.joins.items()
        },
    }


def _member_body(key: str, item: NewExecution) -> dict[str, Any]:
    body, _ = body_of(item, None)
    # The ids of members come from their keys.
    body.pop("id", None)
    return {"key": key, **body}


def _edge_body(edge: Edge) -> dict[str, Any]:
    return {"from": edge.source, "to": edge.target, "on": edge.on, "input": edge.input}


def _ids(reply: Mapping[str, Any]) -> dict[str, ExecutionId]:
    return {key: ExecutionId(one) for key, one in reply.get("members", {}).items()}


def _graph(view: Mapping[str, Any]) -> Graph:
    return msgspec.convert({**view, "version": view["revision"]}, Graph)


def _view(reply: Mapping[str, Any]) -> GraphView:
    edges: dict[str, list[Edge]] = {}
    for view in reply["edges"]:
        edge = Edge(source=view["from"], target=view["to"], on=view["on"], input=view.get("input"))
        edges.setdefault(edge.target, []).append(edge)
    members = {
        key: Member(
            key=key,
            id=ExecutionId(view["id"]),
            kind=view["kind"],
            state=State(view["state"]),
            join=Join(**view["join"]),
            spared=view["spared"],
            edges=edges.get(key, []),
        )
        for key, view in reply["members"].items()
    }
    events = [decode.event(view) for view in reply["events"]]
    return GraphView(graph=_graph(reply), members=members, events=events)
