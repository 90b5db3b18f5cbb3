"""Server-sent events, as far as models use them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from holdfast.host.flows.runners import NodeFailed

#: A line of an event may not be longer.
LINE_BYTES = 1 << 20


async def events(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of each event; names, ids and comments are left out."""
    data: list[str] = []
    async for line in _lines(parts):
        if not line:
            if data:
                yield "\n".join(data)
            data = []
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
    if data:
        # Some servers end without an empty line.
        yield "\n".join(data)


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > LINE_BYTES:
            raise NodeFailed("model_bad_response", "the model sent a line that never ends")
        for line in lines:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")
