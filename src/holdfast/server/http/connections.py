"""HTTP connections with limits that apply before the caller is known.

The head of a request has a maximum size, because it is read before authentication. A connection
that sends no request, or sends it too slowly, is closed.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from holdfast.server.http.turns import Turns

#: The part of a scope that has the body of a call, if it came in one piece with the head.
BODY = "holdfast.body"
_UPGRADE = re.compile(rb"(\r\n)upgrade:", re.IGNORECASE)
#: The most bytes that a head can add to its first packet.
HEAD_BYTES = 64 << 10
#: The time from the start of a connection, or the last answer, to the end of the next head.
HEAD_S = 75.0


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(self, turns: Turns, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._turns = turns
        #: The number of the head that is being read; None if none is.
        self._head: int | None = None
        self._heads = 0
        self._head_bytes = 0
        #: Whether the end of the head came in the piece of data that is being read.
        self._is_new = False
        #: When the connection began to wait for a call.
        self._waits_since = 0.0
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
        self._is_new = False
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
        self._is_new = True
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Start a call when it is its turn."""
        self._turns.start(partial(super()._start_asgi_task, cycle, app))

    def on_message_complete(self) -> None:
        """Hand over a body that came with its head: nothing has to wait for it."""
        super().on_message_complete()
        if self._is_new:
            self._is_new = False
            self.scope[BODY] = bytes(self.cycle.body)  # type: ignore[literal-required]

    def on_response_complete(self) -> None:
        """Start the timeout for the next call."""
        super().on_response_complete()
        self._expect_call()

    def _expect_call(self) -> None:
        self._waits_since = self.loop.time()
        if self._closing is None:
            self._closing = self.loop.call_later(HEAD_S, self._close_unless_called)

    def _close_unless_called(self) -> None:
        self._closing = None
        left = self._waits_since + HEAD_S - self.loop.time()
        if left > 0:
            # There were calls in the meantime.
            self._closing = self.loop.call_later(left, self._close_unless_called)
        elif self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def _without_upgrade(data: bytes) -> bytes:
    """Hide an offer of another protocol, such as Java's HTTP/2: the parser would skip the body."""
    offer = _UPGRADE.search(data, 0, max(data.find(b"\r\n\r\n"), 0))
    return data if offer is None else data[: offer.end(1)] + b"ignored:" + data[offer.end() :]
