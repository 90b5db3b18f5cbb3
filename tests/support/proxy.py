"""A TCP proxy in front of a server that loses connections at bad moments.

It runs on a thread and an event loop of its own, because the client library blocks the caller's
loop while it connects.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from enum import Enum
from random import Random

_CHUNK = 1 << 16


class Cut(Enum):
    """The moment at which a connection is lost."""

    #: At once, in whatever state it is.
    NOW = "now"
    #: The next request arrives only in part, so the server does not run it.
    IN_REQUEST = "in request"
    #: The server runs the next request, and its reply is lost.
    BEFORE_REPLY = "before reply"
    #: The same, but a part of the reply arrives.
    IN_REPLY = "in reply"


class _Connection:
    """One connection of a client, with its other half to the server."""

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        random: Random,
        on_request: Callable[[bytes], Cut | None],
        on_lost: Callable[[], object],
    ) -> None:
        self._client = client
        self._server = server
        self._random = random
        self._on_request = on_request
        #: Called when the server has run a request, before its reply is lost.
        self._on_lost = on_lost
        self.cut: Cut | None = None

    async def run(self) -> None:
        """Forward both ways until one side closes or the connection is cut."""
        try:
            async with asyncio.TaskGroup() as group:
                requests = group.create_task(self._forward_requests())
                replies = group.create_task(self._forward_replies())
                requests.add_done_callback(lambda _: replies.cancel())
                replies.add_done_callback(lambda _: requests.cancel())
        finally:
            self.close()

    async def _forward_requests(self) -> None:
        (reader, _), (_, writer) = self._client, self._server
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                self.cut = self.cut or self._on_request(data)
                if self.cut is Cut.IN_REQUEST:
                    writer.write(data[: self._random.randrange(len(data))])
                    await writer.drain()
                    return
                writer.write(data)
                await writer.drain()

    async def _forward_replies(self) -> None:
        (_, writer), (reader, _) = self._client, self._server
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                if self.cut is Cut.BEFORE_REPLY:
                    self._on_lost()
                    return
                if self.cut is Cut.IN_REPLY:
                    writer.write(data[: self._random.randrange(len(data))])
                    await writer.drain()
                    return
                writer.write(data)
                await writer.drain()

    def close(self) -> None:
        """Close both halves without saying goodbye."""
        for _, writer in (self._client, self._server):
            writer.transport.abort()


class CuttingProxy:
    """Forwards to a server on loopback; `cut_one` loses a connection. Make it with `open_proxy`."""

    def __init__(self, server_port: int, random: Random) -> None:
        self._server_port = server_port
        self._random = random
        self._loop = asyncio.new_event_loop()
        self._connections: set[_Connection] = set()
        self._stop = asyncio.Event()
        self.started = threading.Event()
        self.port = 0
        #: How many connections were lost, by moment.
        self.cuts = dict.fromkeys(Cut, 0)
        self._on_lost: Callable[[], object] = lambda: None
        self._trap: tuple[bytes, Cut, Callable[[], object]] | None = None

    def run(self) -> None:
        """Serve until closed."""
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        listener = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        self.started.set()
        await self._stop.wait()
        listener.close()
        for connection in self._connections:
            connection.close()
        while len(tasks := asyncio.all_tasks()) > 1:
            await asyncio.wait(tasks - {asyncio.current_task()})

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            return
        halves = (reader, writer), server
        connection = _Connection(*halves, self._random, self._sprung, self._lost)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            if connection.cut is not None:
                self.cuts[connection.cut] += 1

    def cut_one(self) -> None:
        """Lose one connection, now or at its next traffic."""
        self._loop.call_soon_threadsafe(self._cut_one)

    def _cut_one(self) -> None:
        whole = [connection for connection in self._connections if connection.cut is None]
        if not whole:
            return
        connection = self._random.choice(whole)
        connection.cut = self._random.choice(list(Cut))
        if connection.cut is Cut.NOW:
            connection.close()

    def cut_at(
        self,
        words: bytes,
        cut: Cut = Cut.BEFORE_REPLY,
        on_lost: Callable[[], object] = lambda: None,
    ) -> None:
        """Lose the connection of the next request that has these words, once."""
        self._trap = words, cut, on_lost

    def _sprung(self, data: bytes) -> Cut | None:
        if self._trap is None or self._trap[0] not in data:
            return None
        _, cut, self._on_lost = self._trap
        self._trap = None
        return cut

    def _lost(self) -> None:
        self._on_lost()

    def close(self) -> None:
        """Lose all connections and stop."""
        self._loop.call_soon_threadsafe(self._stop.set)


@contextlib.contextmanager
def open_proxy(server_port: int, random: Random) -> Iterator[CuttingProxy]:
    """Listen on a free port of loopback."""
    proxy = CuttingProxy(server_port, random)
    thread = threading.Thread(target=proxy.run)
    thread.start()
    try:
        proxy.started.wait()
        yield proxy
    finally:
        proxy.close()
        thread.join()
