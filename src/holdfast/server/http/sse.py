"""Server-sent events: live streams that a client can resume after a lost connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.concurrency import first_of, stop
from holdfast.errors import HoldfastError, StoreUnavailable
from holdfast.server.http import problems
from holdfast.server.http.call import Call
from holdfast.server.views.veil import CLEAR, Veil

MEDIA_TYPE = "text/event-stream"
#: The longest time between two writes; pings show both sides that the other is there.
PING_S = 15.0
#: How often a stream that ends with the store looks whether it is there.
_LOOK_S = 1.0
#: Clients reconnect this long after the server ended a stream.
RETRY_MS = 1_000
LAST_EVENT_ID = "last-event-id"
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


@dataclass(frozen=True, slots=True)
class Sse:
    """One event."""

    event: str
    data: Any
    #: Where a client continues after it lost its connection.
    id: str | None = None

    def encode(self, veil: Veil = CLEAR) -> bytes:
        """Return the event in wire format, as a caller sees it.

        It is one line of data: line breaks are only between the parts of payloads in JSON.
        """
        head = b"" if self.id is None else b"id: %b\n" % self.id.encode()
        data = msgspec.json.encode(veil.over(self.data)).translate(_ONE_LINE)
        return head + b"event: %b\ndata: %b\n\n" % (self.event.encode(), data)


class EventStream(Response):
    """A reply that lasts until its events or its time end, or the client or the server leaves."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        call: Call,
        events: AsyncIterator[Sse],
        *,
        caller: str | None = None,
        ends_away: bool = False,
        close: Callable[[], object] | None = None,
    ) -> None:
        """Start a stream; raise RateLimited if the caller has too many.

        With `ends_away` it ends when the store does not answer, before a call gives up. At its end
        it calls `close`, even if no event was asked for, as for HEAD.
        """
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._call = call
        self._events = events
        self._ends_away = ends_away
        self._slot = contextlib.ExitStack()
        self._slot.enter_context(call.services.tails.one(caller or call.caller))
        if close is not None:
            self._slot.callback(close)
        call.leave_turn()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events."""
        del receive

        async def write(data: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        with self._slot:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            if scope["method"] == "HEAD":
                await write(b"", more=False)
                return
            await write(b": holdfast\n\n")
            loop, services = asyncio.get_running_loop(), self._call.services
            async with self._call.until_gone() as gone:
                ending = loop.call_later(services.settings.tail_s, gone.set)
                try:
                    async for data in self._encoded(gone):
                        await write(data)
                finally:
                    ending.cancel()
            if gone.is_set():
                await write(b"retry: %d\n\n" % RETRY_MS)
            await write(b"", more=False)

    @property
    def _is_over(self) -> bool:
        return self._ends_away and self._call.engine.is_away

    async def _wait(self, coming: asyncio.Future[Any], leaving: asyncio.Future[Any]) -> None:
        """Wait for an event, or for the caller to leave, until something has to be written."""
        look_s = _LOOK_S if self._ends_away else PING_S
        for _ in range(round(PING_S / look_s)):
            await first_of(coming, leaving, timeout_s=look_s)
            if coming.done() or leaving.done() or self._is_over:
                return

    async def _encoded(self, gone: asyncio.Event) -> AsyncIterator[bytes]:
        """Yield events, and pings between them, until the client leaves."""
        leaving: asyncio.Future[Any] = asyncio.ensure_future(gone.wait())
        coming = _next(self._events)
        try:
            while True:
                await self._wait(coming, leaving)
                if gone.is_set():
                    return
                if not coming.done():
                    if self._is_over:
                        away = StoreUnavailable("the store does not answer")
                        yield Sse("error", problems.document(away)).encode(self._call.veil)
                        return
                    yield b": ping\n\n"
                    continue
                try:
                    event: Sse | None = coming.result()
                except HoldfastError as error:
                    yield Sse("error", problems.document(error)).encode(self._call.veil)
                    return
                if event is None:
                    return
                yield event.encode(self._call.veil)
                coming = _next(self._events)
        finally:
            await stop(leaving, coming)
            close = getattr(self._events, "aclose", None)
            if close is not None:
                await close()


def _next(events: AsyncIterator[Sse]) -> asyncio.Future[Any]:
    """Ask for the next event; None at the end."""

    async def ask() -> Sse | None:
        return await anext(events, None)

    return asyncio.ensure_future(ask())
