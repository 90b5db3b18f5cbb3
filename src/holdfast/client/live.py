"""Live news over HTTP: of one execution, and of all executions of a tenant.

A connection that was lost is opened again where it broke off; if the server cannot be reached then,
that is raised.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, NamedTuple

import aiohttp
import msgspec

from holdfast.client import decode
from holdfast.client.http import LOST, Http, Remote, path, refusal_of
from holdfast.engine.changes import Changes
from holdfast.engine.feeds import Feeds
from holdfast.model import checks
from holdfast.model.feeds import Change, Gap, Position, StateChange
from holdfast.model.states import State

#: Servers that stop ask for as much.
_PAUSE_S = 1.0


class Sse(NamedTuple):
    """One event."""

    name: str
    data: bytes
    #: Where to go on after it.
    id: str | None


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[Sse]:
    """Yield the events of a stream; raises what the server says went wrong."""
    rest = b""
    name, data, position = "", b"", None
    async for chunk in response.content.iter_any():
        # Not all that Python takes for the end of a line is one: JSON may hold the others.
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            field, _, value = line.partition(b": ")
            if field == b"event":
                name = value.decode()
            elif field == b"data":
                data = value
            elif field == b"id":
                position = value.decode()
            elif not line and name:
                if name == "error":
                    raise refusal_of(msgspec.json.decode(data))
                yield Sse(name, data, position)
                name, data, position = "", b"", None


async def _follow(http: Http, where: str, **query: Any) -> AsyncGenerator[Sse, None]:
    """Yield events for ever, over all connections that it takes."""
    while True:
        response = await http.follow(where, **query)
        try:
            with contextlib.suppress(*LOST):
                async for event in events(response):
                    query["after"] = event.id or query.get("after")
                    yield event
        finally:
            response.close()
        await asyncio.sleep(_PAUSE_S)


class RemoteChanges(Remote, Changes):
    """Followers of executions."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def close(self) -> None:
        """Nothing to do: followers end with their connections."""

    async def follow(self, execution_id: str, after: str | None = None) -> AsyncIterator[Change]:
        """Yield what happened so far, or since a position, then what happens, until its end."""
        where = path("executions", checks.execution_id("id", execution_id), "events")
        told: State | None = None
        async with contextlib.aclosing(_follow(self._http, where, after=after)) as stream:
            async for event in stream:
                view = msgspec.json.decode(event.data)
                if event.name == "end":
                    return
                before, told = told, State(view.pop("current", None) or view["state"])
                if event.id is not None:
                    yield Change(told, decode.event(view), event.id)
                elif told is not before:
                    yield Change(told, None, None)


class RemoteFeeds(Remote, Feeds):
    """The event feeds of a server's store."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def follow(
        self, tenant: str, after: str | None = None
    ) -> AsyncIterator[StateChange | Gap | None]:
        """Yield changes as they happen, from now or from a position on.

        First comes None, once nothing that happens from now on can be missed; then changes, and a
        Gap where some are gone.
        """
        where, seen, is_open = "/v1/events", after, False
        query = {"tenant": checks.name("tenant", tenant), "after": after}
        async with contextlib.aclosing(_follow(self._http, where, **query)) as stream:
            async for event in stream:
                if event.name == "gap":
                    yield Gap()
                elif event.name == "open":
                    if not is_open:
                        yield None
                    elif seen is None:
                        # The connection was lost before there was a position to go on from.
                        yield Gap()
                    is_open = True
                elif event.id is not None:
                    seen = event.id
                    yield _change(msgspec.json.decode(event.data), seen)


def _change(view: dict[str, Any], position: str) -> StateChange:
    before = view["from"]
    return StateChange(
        position=Position.parse(position),
        at=decode.moment(view["at"]),
        execution=view["execution"],
        kind=view["kind"],
        lane=view["lane"],
        before=None if before is None else State(before),
        state=State(view["state"]),
        attempts=view["attempts"],
    )
