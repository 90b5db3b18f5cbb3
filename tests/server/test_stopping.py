"""The end of a real server: calls under way finish, those that wait are sent home."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer
from tests.support.http_servers import server_process

BODY = b'{"kind": "work", "id": "under-way"}'


@contextlib.asynccontextmanager
async def half_sent(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A submission that is under way: half of its body is sent."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"POST /v1/executions HTTP/1.1\r\nHost: {address.netloc}\r\n"
    writer.write(f"{head}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY[:10])
    await writer.drain()
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def store_of(server: TestServer, name: str) -> str:
    return f"valkey://127.0.0.1:{server.port}?prefix=stop-{name}"


async def test_sigterm_loses_nothing(real_server: TestServer, tmp_path: Path) -> None:
    """A call under way is answered, long polls come back empty, tails get a hint; exit code 0."""
    store = store_of(real_server, "clean")
    async with (
        server_process(store, tmp_path) as (url, process),
        httpx.AsyncClient(base_url=url, timeout=30) as client,
        half_sent(url) as (reader, writer),
    ):
        await client.put("/v1/workers/w1", json={"worker": "w", "lanes": ["none"], "slots": 1})
        claim = {"lanes": ["none"], "max": 1, "wait_ms": 30_000}
        poll = asyncio.ensure_future(client.post("/v1/workers/w1/claim", json=claim))
        async with client.stream("GET", "/v1/events", params={"tenant": "default"}) as tail:
            lines = tail.aiter_lines()
            assert [await anext(lines) for _ in range(3)][2] == "event: open"
            await wait_for_open(client)
            process.send_signal(signal.SIGTERM)
            rest = [line async for line in lines if line]
        assert rest[-1] == "retry: 1000"
        answer = await poll
        assert (answer.status_code, answer.json()) == (200, {"claims": []})
        writer.write(BODY[10:])
        reply = await asyncio.wait_for(reader.read(), 5)
        assert reply.startswith(b"HTTP/1.1 201")
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["id"] == "under-way"
        with pytest.raises(httpx.ConnectError):
            await client.get("/healthz")
        assert await asyncio.wait_for(process.wait(), 5) == 0
    (line,) = (tmp_path / "server.log").read_text().splitlines()
    assert "there is no API key" in line


async def wait_for_open(client: httpx.AsyncClient) -> None:
    """Wait until the long poll and the tail have arrived."""

    async def arrived() -> bool:
        lines = (await client.get("/metrics")).text.splitlines()
        return {"holdfast_http_waiting_calls 1.0", "holdfast_http_live_streams 1.0"} <= {*lines}

    await wait_for(arrived)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [(signal.SIGTERM, signal.SIGTERM, 0), (signal.SIGINT, signal.SIGINT, 130)],
)
async def test_a_second_signal_waits_for_nothing(
    real_server: TestServer,
    tmp_path: Path,
    first: signal.Signals,
    second: signal.Signals,
    code: int,
) -> None:
    """A call that would take all of its ten seconds is dropped."""
    store = store_of(real_server, "forced")
    async with server_process(store, tmp_path) as (url, process), half_sent(url) as (reader, _):
        async with httpx.AsyncClient(base_url=url) as client:
            await client.get("/healthz")
            process.send_signal(first)

            async def refused() -> bool:
                with contextlib.suppress(httpx.ConnectError, httpx.RemoteProtocolError):
                    await client.get("/healthz", headers={"Connection": "close"})
                    return False
                return True

            await wait_for(refused)
        assert process.returncode is None
        process.send_signal(second)
        assert await asyncio.wait_for(process.wait(), 4) == code
        with contextlib.suppress(ConnectionError):
            assert not (await reader.read()).startswith(b"HTTP/1.1 2")
    assert "Traceback" not in (tmp_path / "server.log").read_text()
