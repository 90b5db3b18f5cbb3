"""The tenant guard: callers reach only objects of their tenant.

The store checks the ids that the caller named, in the call that the handler makes: see
`holdfast.store.restrictions`. If the handler makes no such call, the guard looks the owner up.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager
from typing import Any

from holdfast.errors import ExecutionNotFound, GraphNotFound, HoldfastError, SessionNotFound
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Owner
from holdfast.store.restrictions import restricted

#: The parameter with which an operator names the tenant of the object in the path.
TENANT = "tenant"


@contextlib.asynccontextmanager
async def checked(call: Call, owner: Owner, arguments: dict[str, Any]) -> AsyncIterator[None]:
    """Hide objects of other tenants from the caller.

    The path has an id of the key's tenant, or of the tenant that an operator names.
    """
    named = call.request.query_params.get(TENANT)
    tenant = call.identity.tenant if named is None else call.tenant_named(named)
    call.tenant = tenant
    given = arguments[owner.param]
    for param in owner.params & arguments.keys():
        arguments[param] = call.stored_id(arguments[param])
    if tenant is None:
        yield
        return
    stored = arguments[owner.param]

    async def look_up() -> None:
        if await owner.find(call, stored) != tenant:
            raise owner.missing(given)

    if not owner.in_store:
        await look_up()
        yield
        return
    with restricted(tenant, [stored]) as restriction:
        try:
            yield
        except HoldfastError:
            # An error from before the store was asked must not differ for objects of other tenants.
            if not restriction.checked:
                await look_up()
            raise
        if not restriction.checked:
            await look_up()


def restricted_to_caller(
    call: Call, execution_ids: Iterable[str]
) -> AbstractContextManager[object]:
    """Refuse each of these executions that belongs to another tenant than the caller's."""
    tenant = call.identity.tenant
    return contextlib.nullcontext() if tenant is None else restricted(tenant, execution_ids)


async def _of_execution(call: Call, execution_id: str) -> str:
    return await call.engine.owner(execution_id)


def _no_execution(execution_id: str) -> ExecutionNotFound:
    return ExecutionNotFound(f"no execution has the id {execution_id}", id=execution_id)


EXECUTION: Owner = Owner("id", _of_execution, _no_execution)


async def _of_archived(call: Call, execution_id: str) -> str | None:
    archive = await call.engine.archive.find()
    return None if archive is None else await archive.owner(execution_id)


ARCHIVED: Owner = Owner("id", _of_archived, _no_execution, in_store=False)


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
