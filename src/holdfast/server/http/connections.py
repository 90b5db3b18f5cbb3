"""HTTP whose callers have bounds before anybody knows who they are.

A head, which is read before anything else can be asked of a caller, has a largest size; and a
connection that asks for nothing, or takes for ever to say what, is closed.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_UPGRADE = re.compile(rb"(\r\n)upgrade:", re.IGNORECASE)
#: A head may have this much more than came with its first packet.
HEAD_BYTES = 64 << 10
#: From the beginning of a connection, or the answer to the last call, to the end of the next head.
HEAD_S = 75.0


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        #: Which head of this connection is being read; None: none is.
        self._head: int | None = None
        self._heads = 0
        self._head_bytes = 0
        self._closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a call soon."""
        super().connection_made(transport)
        self._expect_call()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        super().connection_lost(exc)
        if self._closing is not None:
            self._closing.cancel()

    def data_received(self, data: bytes) -> None:
        """Read on, but no head without end."""
        before = self._head
        super().data_received(data if self._is_in_body() else _without_upgrade(data))
        if before is not None and before == self._head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response(f"The head is over the limit of {HEAD_BYTES} bytes.")

    def _is_in_body(self) -> bool:
        return self._head is None and self.cycle is not None and self.cycle.more_body

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._heads += 1
        self._head, self._head_bytes = self._heads, 0

    def on_headers_complete(self) -> None:
        """It ends."""
        self._head = None
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Expect the next call soon."""
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
    """Hide an offer of another protocol, such as HTTP/2 by Java: its parser would skip the body."""
    offer = _UPGRADE.search(data, 0, max(data.find(b"\r\n\r\n"), 0))
    return data if offer is None else data[: offer.end(1)] + b"ignored:" + data[offer.end() :]
