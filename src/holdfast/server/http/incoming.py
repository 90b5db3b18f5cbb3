"""The body of a call while it arrives, within a size and a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request

from holdfast.errors import Malformed, TooLarge

#: How long a body may take to arrive that is read as a whole.
BODY_TIMEOUT_S = 30.0
#: How long a body may take whose handler reads it in pieces.
UPLOAD_TIMEOUT_S = 600.0


class Incoming:
    """A body that a handler reads in pieces; as the type of a handler's `body`, it asks for one."""

    def __init__(self, request: Request, most: int, *, timeout_s: float = UPLOAD_TIMEOUT_S) -> None:
        self._request = request
        self._most = most
        self._timeout_s = timeout_s

    async def pieces(self, most: int | None = None) -> AsyncIterator[bytes]:
        """Yield the body; raise TooLarge as soon as it is, or says that it will be."""
        limit = self._most if most is None else min(most, self._most)
        announced = self._request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > limit:
            raise _too_large(limit)
        size = 0
        pieces = aiter(self._request.stream())
        ends_at = asyncio.get_running_loop().time() + self._timeout_s
        while True:
            try:
                async with asyncio.timeout_at(ends_at):
                    piece = await anext(pieces, None)
            except TimeoutError:
                message = f"the body did not arrive within {self._timeout_s:.0f} s"
                raise Malformed(message, field="body") from None
            if piece is None:
                return
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            yield piece


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"body: is larger than {most} bytes", field="body", limit=most)
