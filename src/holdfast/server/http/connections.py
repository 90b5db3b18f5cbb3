"""HTTP connections with limits that apply before the caller is known.

The head of a request has a maximum size, because it is read before authentication; so have the
trailers and chunk extensions of a body, which no handler counts. A connection that sends no
request, or sends it too slowly, is closed, and so is one that does not read its answers. Calls
that wait for the answers to earlier ones are read no faster than they are answered.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from holdfast.server.http.turns import TURN, Turn, Turns

#: The part of a scope that has the body of a call, if it came in one piece with the head.
BODY = "holdfast.body"
#: The part of a scope that has the connection of a call.
CONNECTION = "holdfast.connection"
_UPGRADE = re.compile(rb"(\r\n)upgrade:", re.IGNORECASE)
#: A call with one of these has a body, which the parser skips if it offers another protocol.
_BODIED = frozenset({b"content-length", b"transfer-encoding"})
#: The most bytes that a head, or what follows a body, can add to its first packet.
HEAD_BYTES = 64 << 10
#: What is read at a time: calls in it are kept until those before them are answered.
PIECE_BYTES = 16 << 10
#: The most headers of a call.
HEADERS = 256
#: The time from the start of a connection, or the last answer, to the end of the next head.
HEAD_S = 75.0
#: How long a caller may leave an answer unread that does not fit into the buffers between us.
UNREAD_S = 75.0


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(self, turns: Turns, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._turns = turns
        #: The call that is being answered; `cycle` is the last one that was read.
        self._answered: Any = None
        self._turn: Turn | None = None
        #: Data that is read when the calls before it are answered.
        self._later = b""
        self._is_in_head = False
        #: How often something came of the data: a head began or ended, or there was a body.
        self._gains = 0
        #: The size of the data since then.
        self._vain_bytes = 0
        #: Whether the end of the head came in the piece of data that is being read.
        self._is_new = False
        #: When the connection began to wait for a call.
        self._waits_since = 0.0
        self._closing: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first call."""
        super().connection_made(transport)
        self._expect_call()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeouts, and let the call that is being answered know."""
        super().connection_lost(exc)
        self._end_turn()
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()
        for timeout in (self._closing, self._unread):
            if timeout is not None:
                timeout.cancel()

    def data_received(self, data: bytes) -> None:
        """Read data, but no further than the first piece with a call that has to wait."""
        data = self._later + data
        at = 0
        while at < len(data) and not self.pipeline and not self.transport.is_closing():
            self._read(data[at : at + PIECE_BYTES])
            at += PIECE_BYTES
        self._later = data[at:]
        if self._later:
            # A call that listens to its connection has it read on.
            self.flow.pause_reading()

    def _read(self, data: bytes) -> None:
        """Read a piece, but refuse an endless head or trailer."""
        before = self._gains
        super().data_received(data if self._is_in_body() else _without_upgrade(data))
        self._is_new = False
        self._vain_bytes = self._vain_bytes + len(data) if before == self._gains else 0
        if self._vain_bytes > HEAD_BYTES and not self.transport.is_closing():
            what = "head" if self._is_in_head else "trailer"
            self.send_400_response(f"The {what} is larger than {HEAD_BYTES} bytes.")

    def send_400_response(self, msg: str) -> None:
        """Refuse a call and close the connection; an answer that has begun cannot change."""
        cycle = self.cycle
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            self.transport.abort()
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def _is_in_body(self) -> bool:
        return not self._is_in_head and self.cycle is not None and self.cycle.more_body

    def on_message_begin(self) -> None:
        """Note that a head begins."""
        super().on_message_begin()
        self._is_in_head = True
        self._gains += 1

    def on_headers_complete(self) -> None:
        """Note that a head ends; refuse one with too many headers, or whose body would be lost."""
        if len(self.headers) > HEADERS:
            self.send_400_response(f"There are more than {HEADERS} headers.")
            # This stops the parser.
            raise ValueError
        if self.parser.should_upgrade() and any(name in _BODIED for name, _ in self.headers):
            self.send_400_response("An offer of another protocol cannot have a body here.")
            raise ValueError
        self._is_in_head = False
        self._is_new = True
        self._gains += 1
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that the body grows."""
        self._gains += 1
        super().on_body(body)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Start a call when it is its turn."""
        self._answered = cycle
        cycle.scope[CONNECTION] = self
        begin = partial(super()._start_asgi_task, cycle, app)
        self._turn = cycle.scope[TURN] = self._turns.start(_caller(cycle.scope), begin)

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.end()

    def on_message_complete(self) -> None:
        """Hand over a body that came with its head: nothing has to wait for it."""
        super().on_message_complete()
        if self._is_new:
            self._is_new = False
            self.scope[BODY] = bytes(self.cycle.body)  # type: ignore[literal-required]

    def answer(self, status: int, head: bytes, body: bytes) -> bool:
        """Write a whole answer at once; returns False if it has to be sent in the usual way."""
        cycle = self._answered
        if cycle.disconnected or self.flow.write_paused:
            return False
        cycle.response_started = cycle.response_complete = True
        lines = [STATUS_LINE[status], head]
        lines += [b"%b: %b\r\n" % pair for pair in self.server_state.default_headers]
        lines += [b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n", body]
        self.transport.write(b"".join(lines))
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        return True

    def on_response_complete(self) -> None:
        """Start the timeout for the next call; read it when those before it are answered."""
        self._end_turn()
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        if self.pipeline:
            self.flow.pause_reading()
        elif self._later:
            self.data_received(b"")
        self._expect_call()

    def pause_writing(self) -> None:
        """Wait until the caller reads, but not for ever: it holds an answer, or a live stream."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timeout, because the caller reads."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

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


def _caller(scope: Any) -> object:
    """Return whose call it is, before any key is checked: of a key, else of an address."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            return value
    return scope["client"] and scope["client"][0]


def _without_upgrade(data: bytes) -> bytes:
    """Hide an offer of another protocol, such as Java's HTTP/2: the parser would skip the body."""
    offer = _UPGRADE.search(data, 0, max(data.find(b"\r\n\r\n"), 0))
    return data if offer is None else data[: offer.end(1)] + b"ignored:" + data[offer.end() :]
