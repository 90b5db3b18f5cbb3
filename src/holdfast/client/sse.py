"""Server-sent events: read them, and follow them over as many connections as needed.

A lost connection is reopened where it broke off. If the server cannot be reached, that error is
raised.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, NamedTuple

import aiohttp
import msgspec

from holdfast.client.http import LOST, Http, refusal_of

#: The delay that a stopping server asks for.
_PAUSE_S = 1.0


class Sse(NamedTuple):
    """One event."""

    name: str
    data: bytes
    #: Where to continue after it.
    id: str | None


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[Sse]:
    """Yield the events of a stream; raise the error that the server reports."""
    rest = b""
    name, data, position = "", b"", None
    async for chunk in response.content.iter_any():
        # Python splits lines at more characters than the format does; JSON may contain those.
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
    """Yield events without end, over as many connections as needed."""
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
