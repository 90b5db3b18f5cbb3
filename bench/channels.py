"""Channels: webhooks accepted by a server, and from webhooks to replies at a provider.

The server, the worker and the store are processes of their own; the callers and the provider are
in this one. Processor time counts what each of them does for a message, which a busy machine
changes less than the rate.

    make bench PARTS=channels
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncIterator
from statistics import median, quantiles

import msgspec

from bench.http import Connection, serving
from bench.processes import Processor, started
from holdfast import App, Chat
from holdfast.engine import open_engine
from holdfast.engine.posting import HOSTS_VARIABLE
from holdfast.model.endpoints import NewEndpoint

ROUNDS = 500
SESSIONS = 100
MESSAGES_EACH = 30
WARM_UP = 3
TOKEN = "bench"  # noqa: S105 - it opens nothing
_HEADERS = f"Authorization: Bearer {TOKEN}\r\n"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Provider:
    """Takes replies as fast as it can."""

    def __init__(self) -> None:
        self.taken: int = 0
        self._news = asyncio.Event()

    async def wait(self, count: int) -> None:
        """Wait until it took this many."""
        while self.taken < count:
            self._news.clear()
            await self._news.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(_ANSWER)
                self.taken += 1
                self._news.set()


app: App = App()


@app.conversation
async def echo(chat: Chat) -> None:
    """Repeat every message."""
    while True:
        received = await chat.receive()
        await chat.say(received.text)


async def measure_channels() -> dict[str, float]:
    """Measure one server and one worker, which both send replies."""
    os.environ[HOSTS_VARIABLE] = "127.0.0.1"
    provider = Provider()
    listener = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        store = f"embedded://{folder}"
        worker = ("worker", "bench.channels:app", "--slots", "400", "--keep-logs", "off")
        async with (
            open_engine(store, maintenance=False) as engine,
            started(*worker, "--store", store) as (working, _),
            serving(store) as (server, address),
        ):
            await engine.endpoints.put(
                NewEndpoint(
                    id="bench",
                    provider="http",
                    conversation="echo",
                    settings={"url": url},
                    secrets={"token": TOKEN},
                    rate=100_000,
                )
            )
            async with _open(address) as connections:
                accepted = await _one_by_one(connections[0])
                await provider.wait(ROUNDS)
                await _at_once(connections, provider, WARM_UP, "warm")
                processor = await Processor.start(engine, {"server": server, "worker": working})
                rate = await _at_once(connections, provider, MESSAGES_EACH, "run")
                spent = await processor.stop(SESSIONS * MESSAGES_EACH)
    listener.close()
    return {
        "webhook accepted, p50 ms": median(accepted),
        "webhook accepted, p99 ms": quantiles(accepted, n=100)[98],
        f"messages/s, webhook to reply, {SESSIONS} sessions": rate,
        **{f"processor us per message, {name}": us for name, us in spent.items()},
    }


@contextlib.asynccontextmanager
async def _open(address: tuple[str, int]) -> AsyncIterator[list[Connection]]:
    connections = [await Connection.open(address) for _ in range(SESSIONS)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


async def _send(connection: Connection, user: str, message_id: str) -> None:
    body = {"conversation": user, "user": user, "text": "hello", "id": message_id}
    await connection.call("POST", "/ingress/local/bench", msgspec.json.encode(body), _HEADERS)


async def _one_by_one(connection: Connection) -> list[float]:
    """Send webhooks one after another; return the ms until each was acknowledged."""
    latencies = []
    for number in range(ROUNDS):
        start = time.perf_counter()
        await _send(connection, f"user{number % SESSIONS}", f"one-{number}")
        latencies.append((time.perf_counter() - start) * 1000)
    return latencies


async def _at_once(
    connections: list[Connection], provider: Provider, count: int, name: str
) -> float:
    """Send messages of many sessions; return how many a second were answered."""

    async def talk(index: int) -> None:
        for number in range(count):
            await _send(connections[index], f"user{index}", f"{name}-{number}")

    before = provider.taken
    start = time.perf_counter()
    await asyncio.gather(*map(talk, range(SESSIONS)))
    await provider.wait(before + SESSIONS * count)
    return SESSIONS * count / (time.perf_counter() - start)
