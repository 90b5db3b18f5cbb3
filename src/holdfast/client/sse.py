"""Server-sent events: read, and followed over as many connections as it takes.

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

from holdfast.client.http import LOST, Http, refusal_of

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


async def follow(http: Http, where: str, **query: Any) -> AsyncGenerator[Sse, None]:
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
