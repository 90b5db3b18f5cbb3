"""The HTTP server compared with the engine: creates, batches, long polls, live streams.

The server and the store are separate processes. The load comes from this process over plain
sockets, because an HTTP client library would cost more than the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from statistics import median
from typing import Any

import msgspec

from bench import workloads
from bench.processes import started
from bench.sdk import SLOTS, completed
from holdfast import App, WorkerSettings
from holdfast.api import Engine
from holdfast.client import Client
from holdfast.engine import open_engine
from holdfast.model.executions import NewExecution

BATCHES = 40
BATCH = 1_000
AT_ONCE = 4
#: As many for each connection.
SINGLES = 6_400
CONNECTIONS = 32
WAKE_ROUNDS = 200
TAILS = 500
#: Changes that come one at a time; those of the other streams come in one moment.
ALONE = 50
FAR = 3_000
_INPUT = "x" * 98


class Connection:
    """A persistent HTTP/1.1 connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, address: tuple[str, int]) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection(*address, limit=1 << 24))

    def close(self) -> None:
        """Disconnect."""
        self._writer.close()

    def send(self, method: str, path: str, body: bytes = b"", headers: str = "") -> None:
        """Send a call; further headers are lines that end with a line break."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        self._writer.write(f"{head}{headers}\r\n".encode() + body)

    async def call(self, method: str, path: str, body: bytes = b"", headers: str = "") -> bytes:
        """Send a call and read its answer, which must be a success."""
        self.send(method, path, body, headers)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = await self._reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(head + answer)
        return answer

    async def wait_for(self, text: bytes) -> None:
        """Read until a text arrives."""
        await self._reader.readuntil(text)


@contextlib.asynccontextmanager
async def serving(store: str) -> AsyncIterator[tuple[int, tuple[str, int]]]:
    """Run a server as its users do; yields its process id and its address."""
    options = ("--store", store, "--listen", "127.0.0.1:0", "--rate", "0")
    async with started("server", *options) as (pid, said):
        host, port = said["url"].removeprefix("http://").split(":")
        yield pid, (host, int(port))


async def _rate(count: int, work: list[Any]) -> float:
    started = time.perf_counter()
    await asyncio.gather(*work)
    return count / (time.perf_counter() - started)


async def _batches(engine: Engine, connections: list[Connection]) -> dict[str, float]:
    """Create batches in turn over HTTP and in this process; the best of three counts."""
    item = {"kind": "bench", "input": _INPUT}
    body = msgspec.json.encode({"items": [item] * BATCH})
    payload = msgspec.json.encode(_INPUT)

    async def far(connection: Connection) -> None:
        for _ in range(BATCHES // AT_ONCE):
            await connection.call("POST", "/v1/executions:batch", body)

    async def near() -> None:
        for _ in range(BATCHES // AT_ONCE):
            await engine.submit_many(
                [NewExecution(kind="bench", input=payload) for _ in range(BATCH)]
            )

    count = BATCHES * BATCH
    rounds = [
        (
            await _rate(count, [near() for _ in range(AT_ONCE)]),
            await _rate(count, [far(connection) for connection in connections[:AT_ONCE]]),
        )
        for _ in range(3)
    ]
    best_near, best_far = (max(rates) for rates in zip(*rounds, strict=True))
    return {
        "batch create in process /s": best_near,
        "batch create over HTTP /s": best_far,
        "batch over HTTP / in process": best_far / best_near,
    }


async def _singles(connections: list[Connection], kind: str, given: object) -> float:
    body = msgspec.json.encode({"kind": kind, "input": given})

    async def create(connection: Connection) -> None:
        for _ in range(SINGLES // CONNECTIONS):
            await connection.call("POST", "/v1/executions", body)

    return await _rate(SINGLES, [create(connection) for connection in connections])


async def _end_to_end(
    engine: Engine, connections: list[Connection], address: tuple[str, int]
) -> dict[str, float]:
    """Create tasks one by one; then a worker that knows the URL of the server only runs them."""
    app = App("http://{}:{}".format(*address))

    @app.task
    async def nothing(text: str) -> None:
        pass

    creates = await _singles(connections, "nothing", {"text": _INPUT})
    async with app.worker(WorkerSettings(slots=SLOTS)):
        drained = await workloads.timed(SINGLES, lambda: completed(engine, "nothing", SINGLES))
    return {
        "far worker drains /s": drained.per_second,
        "end to end over HTTP /s": SINGLES / (SINGLES / creates + drained.seconds),
    }


async def _wake_up(connections: list[Connection]) -> float:
    """Return the median ms from a create to the answer of a long poll that waits for it."""
    worker, submitter = connections[:2]
    claim = msgspec.json.encode({"lanes": ["wake"], "wait_ms": 10_000})
    create = msgspec.json.encode({"kind": "bench", "lane": "wake"})
    took = []
    for _ in range(WAKE_ROUNDS):
        waiting = asyncio.ensure_future(worker.call("POST", "/v1/workers/w/claim", claim))
        await asyncio.sleep(0.01)
        started = time.perf_counter()
        await asyncio.gather(submitter.call("POST", "/v1/executions", create), waiting)
        took.append((time.perf_counter() - started) * 1000)
    return median(took)


async def _tails(engine: Engine, address: tuple[str, int]) -> dict[str, float]:
    """Follow executions live, all at once, and cancel them all."""
    ids = [f"tail-{n}" for n in range(TAILS)]
    await engine.submit_many([NewExecution(kind="bench", id=execution_id) for execution_id in ids])
    tails = [await Connection.open(address) for _ in ids]
    started = time.perf_counter()
    for tail, one in zip(tails, ids, strict=True):
        tail.send("GET", f"/v1/executions/{one}/events")
    await asyncio.gather(*(tail.wait_for(b"event: created") for tail in tails))
    opened = time.perf_counter()
    took: list[float] = []

    async def end(tail: Connection, one: str) -> None:
        before = time.perf_counter()
        await asyncio.gather(engine.cancel(one), tail.wait_for(b"event: end"))
        took.append((time.perf_counter() - before) * 1000)

    followed = list(zip(tails, ids, strict=True))
    for tail, one in followed[:ALONE]:
        await end(tail, one)
    alone, took = took, []
    await asyncio.gather(*(end(tail, one) for tail, one in followed[ALONE:]))
    for tail in tails:
        tail.close()
    return {
        f"{TAILS} live streams open, s": opened - started,
        f"{TAILS} live streams, one change to its event, p50 ms": median(alone),
        f"{TAILS} live streams, change to event, p50 ms": median(took),
        f"{TAILS} live streams, change to event, most ms": max(took),
    }


async def _far(engine: Engine, address: tuple[str, int]) -> float:
    """Claim and complete through the Python client; return how many per second."""
    await workloads.submit(engine, FAR, b'"x"')
    async with Client("http://{}:{}".format(*address)) as client:
        rate = await workloads.timed(FAR, lambda: workloads.drain(client, FAR))
    return rate.per_second


async def measure_http() -> dict[str, float]:
    """Measure one server on an embedded store with fsync=always."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        store = f"embedded://{folder}"
        async with (
            open_engine(store, maintenance=False) as engine,
            serving(store) as (_, address),
        ):
            figures = {"claim and complete by the client /s": await _far(engine, address)}
            connections = [await Connection.open(address) for _ in range(CONNECTIONS)]
            figures |= await _batches(engine, connections)
            figures["single create over HTTP /s"] = await _singles(connections, "bench", _INPUT)
            figures |= await _end_to_end(engine, connections, address)
            figures["long poll wakes up, p50 ms"] = await _wake_up(connections)
            figures |= await _tails(engine, address)
            for connection in connections:
                connection.close()
    return figures
