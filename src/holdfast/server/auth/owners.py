"""How to find whose a thing is that a path names."""

from __future__ import annotations

from holdfast.errors import ExecutionNotFound, GraphNotFound, SessionNotFound
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Owner


async def _of_execution(call: Call, execution_id: str) -> str:
    return await call.engine.owner(execution_id)


def _no_execution(execution_id: str) -> ExecutionNotFound:
    return ExecutionNotFound(f"no execution has the id {execution_id}", id=execution_id)


EXECUTION: Owner = Owner("id", _of_execution, _no_execution)


async def _of_archived(call: Call, execution_id: str) -> str | None:
    archive = await call.engine.archive.find()
    return None if archive is None else await archive.owner(execution_id)


ARCHIVED: Owner = Owner("id", _of_archived, _no_execution)


async def _of_graph(call: Call, graph_id: str) -> str:
    return await call.engine.graphs.owner(graph_id)


def _no_graph(graph_id: str) -> GraphNotFound:
    return GraphNotFound(f"no graph has the id {graph_id}", id=graph_id)


GRAPH: Owner = Owner("id", _of_graph, _no_graph)


async def _of_session(call: Call, session_id: str) -> str:
    return (await call.engine.sessions.get(session_id)).key.tenant


def _no_session(session_id: str) -> SessionNotFound:
    return SessionNotFound(f"no session has the id {session_id}", id=session_id)


SESSION: Owner = Owner("id", _of_session, _no_session)
