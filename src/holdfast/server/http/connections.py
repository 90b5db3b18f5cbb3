"""HTTP connections with limits that apply before the caller is known.

The head of a request has a maximum size, because it is read before authentication. A connection
that sends no request, or sends it too slowly, is closed.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_UPGRADE = re.compile(rb"(\r\n)upgrade:", re.IGNORECASE)
#: The most bytes that a head can add to its first packet.
HEAD_BYTES = 64 << 10
#: The time from the start of a connection, or the last answer, to the end of the next head.
HEAD_S = 75.0


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        #: The number of the head that is being read; None if none is.
        self._head: int | None = None
        self._heads = 0
        self._head_bytes = 0
        self._closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first call."""
        super().connection_made(transport)
        self._expect_call()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout."""
        super().connection_lost(exc)
        if self._closing is not None:
            self._closing.cancel()

    def data_received(self, data: bytes) -> None:
        """Read data, but refuse an endless head."""
        before = self._head
        super().data_received(data if self._is_in_body() else _without_upgrade(data))
        if before is not None and before == self._head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response(f"The head is larger than {HEAD_BYTES} bytes.")

    def _is_in_body(self) -> bool:
        return self._head is None and self.cycle is not None and self.cycle.more_body

    def on_message_begin(self) -> None:
        """Note that a head begins."""
        super().on_message_begin()
        self._heads += 1
        self._head, self._head_bytes = self._heads, 0

    def on_headers_complete(self) -> None:
        """Note that a head ends."""
        self._head = None
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Start the timeout for the next call."""
        super().on_response_complete()
        self._expect_call()

    def _expect_call(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
        self._closing = self.loop.call_later(HEAD_S, self._close_unless_called)

    def _close_unless_called(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def _without_upgrade(data: bytes) -> bytes:
    """Hide an offer of another protocol, such as Java's HTTP/2: the parser would skip the body."""
    offer = _UPGRADE.search(data, 0, max(data.find(b"\r\n\r\n"), 0))
    return data if offer is None else data[: offer.end(1)] + b"ignored:" + data[offer.end() :]
