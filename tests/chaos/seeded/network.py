"""The network between clients and servers, and between servers: TCP proxies that misbehave.

Each server has a proxy before its port. A client is known by the user it logs in as, a server by
the address that it connects from. The proxies run on a thread of their own, because heartbeats of
workers block theirs.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from enum import Enum
from random import Random
from typing import Any

from holdfast.concurrency import stop

_CHUNK = 1 << 16
#: How often traffic that is held back looks whether it may go on.
_LOOK_S = 0.004
#: A server that dials from here is known by the last number.
_SERVERS = "127.0.7."


class Moment(Enum):
    """When a connection is lost."""

    NOW = "now"
    #: The request arrives in part only, so the server does not run it.
    IN_REQUEST = "in request"
    #: The server runs the request, and its reply is lost.
    BEFORE_REPLY = "before reply"
    #: The same, and a part of the reply arrives.
    IN_REPLY = "in reply"
    #: The request arrives, its reply is lost, and a copy of the request arrives later.
    TWICE = "twice"


class Path:
    """How traffic flows between a peer and a server."""

    def __init__(self) -> None:
        #: Connections are refused.
        self.is_cut = False
        #: Connections are open, and nothing arrives: of requests, and of replies.
        self.holds_requests = False
        self.holds_replies = False
        self.delay_s = 0.0

    def heal(self) -> None:
        """Let everything pass."""
        self.is_cut = self.holds_requests = self.holds_replies = False
        self.delay_s = 0.0


class _Connection:
    """A connection of a peer to a server."""

    def __init__(self, link: Link, streams: tuple[Any, Any, Any, Any]) -> None:
        self._link = link
        self._from_peer, self._to_peer, self._from_server, self._to_server = streams
        self.peer = ""
        self.moment: Moment | None = None

    @property
    def path(self) -> Path:
        """How its traffic flows now."""
        return self._link.path(self.peer)

    async def run(self) -> None:
        """Forward both ways until one side closes, or it is lost."""
        self.peer = self._address()
        first = await self._from_peer.read(_CHUNK)
        self.peer = self.peer or _login(first)
        if not first or self.path.is_cut:
            return
        self._to_server.write(first)
        ways = [asyncio.ensure_future(way) for way in (self._requests(), self._replies())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    def _address(self) -> str:
        host: str = self._to_peer.get_extra_info("peername")[0]
        return f"server{host.removeprefix(_SERVERS)}" if host.startswith(_SERVERS) else ""

    async def _requests(self) -> None:
        while data := await self._from_peer.read(_CHUNK):
            await self._pass(lambda: self.path.holds_requests)
            if self.moment is Moment.IN_REQUEST:
                self._to_server.write(data[: self._link.random.randrange(len(data))])
                await self._to_server.drain()
                return
            if self.moment is Moment.TWICE:
                self._link.repeat(data)
            self._to_server.write(data)
            await self._to_server.drain()

    async def _replies(self) -> None:
        while data := await self._from_server.read(_CHUNK):
            await self._pass(lambda: self.path.holds_replies)
            if self.moment in (Moment.BEFORE_REPLY, Moment.TWICE):
                return
            if self.moment is Moment.IN_REPLY:
                self._to_peer.write(data[: self._link.random.randrange(len(data))])
                await self._to_peer.drain()
                return
            self._to_peer.write(data)
            await self._to_peer.drain()

    async def _pass(self, holds: Callable[[], bool]) -> None:
        if self.path.delay_s:
            await asyncio.sleep(self.path.delay_s)
        while holds():  # noqa: ASYNC110 - another thread ends it
            await asyncio.sleep(_LOOK_S)

    def close(self) -> None:
        """Lose it without a goodbye."""
        for writer in (self._to_peer, self._to_server):
            writer.transport.abort()


def _login(first: bytes) -> str:
    """Return the user that a connection logs in as."""
    words = first.split(b"\r\n")
    return words[words.index(b"AUTH") + 2].decode() if b"AUTH" in words else ""


class Link:
    """A port of its own before the port of a server. Make it with `Network.link`."""

    def __init__(self, target: int, random: Random) -> None:
        #: The port of the server behind it, which may change.
        self.target = target
        self.random = random
        self.port = 0
        self.connections: set[_Connection] = set()
        self._paths: dict[str, Path] = {}
        self._echoes: set[asyncio.Task[None]] = set()

    def path(self, peer: str) -> Path:
        """Return how the traffic of a peer flows."""
        if peer not in self._paths:
            self._paths[peer] = Path()
        return self._paths[peer]

    def heal(self) -> None:
        """Let all traffic pass."""
        for path in list(self._paths.values()):
            path.heal()

    async def listen(self) -> None:
        """Listen on a free port."""
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._listener.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Listen no more, and lose all connections."""
        self._listener.close()
        self.lose_all()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(self, (reader, writer, *server))
        self.connections.add(connection)
        try:
            # At the end of the network it is cancelled, and nobody waits for it.
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await connection.run()
        finally:
            self.connections.discard(connection)
            connection.close()

    def lose(self, moment: Moment, peers: tuple[str, ...] = ()) -> None:
        """Lose a connection at its next such moment, of one of these peers."""
        whole = [one for one in self.connections if one.moment is None]
        whole = [one for one in whole if not peers or one.peer in peers]
        if whole:
            connection = self.random.choice(sorted(whole, key=id))
            connection.moment = moment
            if moment is Moment.NOW:
                connection.close()

    def lose_all(self, peer: str | None = None) -> None:
        """Lose all connections, or those of a peer."""
        for connection in list(self.connections):
            if peer is None or connection.peer == peer:
                connection.close()

    def repeat(self, data: bytes) -> None:
        """Let whole requests arrive a second time, a little later."""
        if data.startswith(b"*") and data.endswith(b"\r\n"):
            echo = asyncio.ensure_future(self._repeat(data))
            self._echoes.add(echo)
            echo.add_done_callback(self._echoes.discard)

    async def _repeat(self, data: bytes) -> None:
        await asyncio.sleep(self.random.uniform(0.02, 0.5))
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(2):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.target)
                writer.write(data)
                await reader.read(_CHUNK)
                writer.transport.abort()


class Network:
    """All links. Make it with `open_network`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.links: list[Link] = []

    def run(self) -> None:
        """Forward until closed."""
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        for link in self.links:
            link.close()
        await stop(*asyncio.all_tasks() - {asyncio.current_task()})
        # Transports close in the round after.
        await asyncio.sleep(0)

    def link(self, target: int, random: Random, port: int = 0) -> Link:
        """Listen before a port."""
        link = Link(target, random)
        link.port = port
        self._do(link.listen())
        self.links.append(link)
        return link

    def _do(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def call(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function of a link."""
        self._loop.call_soon_threadsafe(function, *args)

    def heal(self) -> None:
        """Let all traffic pass, everywhere."""
        for link in self.links:
            link.heal()

    def close(self) -> None:
        """Lose all connections and stop."""
        self._loop.call_soon_threadsafe(self._loop.stop)


@contextlib.contextmanager
def open_network() -> Iterator[Network]:
    """Run a network for as long as the block runs."""
    network = Network()
    thread = threading.Thread(target=network.run, daemon=True)
    thread.start()
    try:
        yield network
    finally:
        network.close()
        thread.join(5)
