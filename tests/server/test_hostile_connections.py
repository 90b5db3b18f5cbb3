"""Connections of callers who mean harm: slow ones, large ones, many, and those that guess keys."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from holdfast.model.api_keys import new_secret
from holdfast.server.auth import identity
from holdfast.server.http import app, connections, pipeline
from holdfast.server.http.declare import Route
from holdfast.testing.polling import wait_for
from tests.server.conftest import Serve, Site

HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
SIGNAL = b"POST /v1/signals/x~w1 HTTP/1.1\r\nhost: localhost\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n\r\n"
#: Deadlines cost nothing where a test passes.
PATIENCE_S = 60


class Caller:
    """A connection whose every byte the test chooses."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, data: bytes) -> None:
        """Send bytes, also to a server that has hung up."""
        self._writer.write(data)
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def repeat(self, data: bytes, most: int) -> int:
        """Send the same again and again, until the server hangs up; return how much was sent."""
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < most and not self._reader.at_eof():
                self._writer.write(data)
                await self._writer.drain()
                await asyncio.sleep(0)
                sent += len(data)
        return sent

    async def answer(self) -> tuple[int, bytes]:
        """Read one answer that has a length."""
        async with asyncio.timeout(PATIENCE_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
            (length,) = re.findall(rb"content-length: (\d+)", head)
            body = await self._reader.readexactly(int(length))
        return int(head.split(b" ", 2)[1]), body

    async def rest(self) -> bytes:
        """Read until the server hangs up."""
        async with asyncio.timeout(PATIENCE_S):
            with contextlib.suppress(ConnectionError):
                return await self._reader.read()
        return b""


@contextlib.asynccontextmanager
async def calling(site: Site) -> AsyncIterator[Caller]:
    url = httpx.URL(site.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        yield Caller(reader, writer)
    finally:
        writer.transport.abort()


async def still_serves(site: Site) -> None:
    async with site.client() as client:
        assert (await client.get("/healthz")).status_code == 200


async def test_a_body_that_comes_too_slowly_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the time belongs to others."""
    monkeypatch.setattr(pipeline, "BODY_TIMEOUT_S", 0.1)
    async with calling(site) as caller:
        await caller.say(SIGNAL + b"content-length: 100\r\n\r\n{")
        status, body = await caller.answer()
    assert status == 400
    assert b"did not arrive within" in body


async def test_a_caller_who_leaves_within_a_body_gets_no_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call has an end nevertheless, and nothing else gives an answer without a body."""
    answer = pipeline.Pipeline._answer
    answers: list[tuple[int, bytes, bool]] = []

    async def noted(self: pipeline.Pipeline, request: Request, route: Route) -> Response:
        response = await answer(self, request, route)
        has_left = await request.is_disconnected()
        answers.append((response.status_code, bytes(response.body), has_left))
        return response

    async def has_ended() -> bool:
        return bool(answers)

    monkeypatch.setattr(pipeline.Pipeline, "_answer", noted)
    async with calling(site) as caller:
        await caller.say(SIGNAL + b"content-length: 100\r\n\r\n{")
        await still_serves(site)
        answers.clear()
    await wait_for(has_ended)
    assert answers == [(400, b"", True)]


async def test_a_caller_who_is_slow_after_the_answer_is_left(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who was refused may go on with a body that nobody reads, but not for long."""
    monkeypatch.setattr(connections, "HEAD_S", 0.1)
    async with calling(site) as caller:
        await caller.say(b"POST /v1/nothing HTTP/1.1\r\ncontent-length: 100\r\n\r\n{")
        status, _ = await caller.answer()
        assert status == 404
        assert await caller.rest() == b""


async def test_a_call_with_too_many_headers_is_refused(site: Site) -> None:
    async with calling(site) as caller:
        await caller.say(HEALTH + b"a:\r\n" * 2_000 + b"\r\n")
        assert await caller.answer() == (400, b"There are more than 256 headers.")
    async with calling(site) as caller:
        await caller.say(HEALTH + b"a:\r\n" * 200 + b"\r\n")
        assert (await caller.answer())[0] == 200


@pytest.mark.parametrize("head", [HEALTH, SIGNAL])
@pytest.mark.parametrize("packet", [b"x-name: " + b"a" * 8_000 + b"\r\n", b"a" * 8_000])
async def test_trailers_without_end_are_cut_off(site: Site, head: bytes, packet: bytes) -> None:
    """What follows a body is read by no handler: before an answer, and after it."""
    async with calling(site) as caller:
        await caller.say(head + CHUNKED + b"2\r\n{}\r\n0\r\nx-first: ")
        assert await caller.repeat(packet, 64 << 20) < 8 << 20
    await still_serves(site)


async def test_a_chunk_may_not_have_endless_extensions(site: Site) -> None:
    async with calling(site) as caller:
        await caller.say(SIGNAL + CHUNKED + b"2;name=")
        assert await caller.repeat(b"a" * 8_000, 64 << 20) < 8 << 20
    await still_serves(site)


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"-1\r\n{}\r\n0\r\n\r\n",
        b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        b"1\r\n{}\r\n0\r\n\r\n",
    ],
)
async def test_a_bad_chunk_ends_the_connection(site: Site, body: bytes) -> None:
    """What follows could be taken for another call."""
    async with calling(site) as caller:
        await caller.say(SIGNAL + CHUNKED + body + HEALTH + b"\r\n")
        assert (await caller.rest()).count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "headers",
    [
        b"content-length: 2\r\ncontent-length: 3\r\n",
        b"content-length: 2\r\ntransfer-encoding: chunked\r\n",
        b"content-length: -2\r\n",
        b"content-length: 99999999999999999999999\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"content-length : 2\r\n",
    ],
)
async def test_two_readers_cannot_disagree_about_where_a_call_ends(
    site: Site, headers: bytes
) -> None:
    """A proxy and a server that do would let a caller hide a call in a body."""
    async with calling(site) as caller:
        await caller.say(SIGNAL + headers + b"\r\n" + b"{}" + HEALTH + b"\r\n")
        found = await caller.rest()
    assert found.startswith(b"HTTP/1.1 400 ")
    assert found.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("method", [b"POST", b"CONNECT"])
@pytest.mark.parametrize(
    "packets",
    [
        (b"upgr", b"ade: h2c\r\ncontent-length: 43\r\n\r\n"),
        (b"upgrade: h2c\r\ncontent-length: 43\r\n", b"\r\n"),
        (b"upgr", b"ade: websocket\r\ntransfer-encoding: chunked\r\n\r\n2b\r\n"),
    ],
)
async def test_an_offer_of_another_protocol_hides_no_call_in_a_body(
    site: Site, method: bytes, packets: tuple[bytes, bytes]
) -> None:
    """The parser takes what follows such a head for the next call."""
    head = SIGNAL.replace(b"POST", method) + b"connection: upgrade\r\n"
    async with calling(site) as caller:
        await caller.say(HEALTH + b"\r\n" + head + packets[0])
        assert (await caller.answer())[0] == 200
        await caller.say(packets[1])
        await caller.say(HEALTH + b"\r\n")
        found = await caller.rest()
    assert found.startswith(b"HTTP/1.1 400 ")
    assert found.count(b"HTTP/1.1 ") == 1


async def test_a_body_that_is_compressed_is_not_unpacked(site: Site) -> None:
    """A hundred kilobytes would become twenty megabytes."""
    bomb = gzip.compress(b'{"kind": "%s"}' % (b"a" * (20 << 20)), 1)
    async with site.client() as client:
        refused = await client.post(
            "/v1/executions", content=bomb, headers={"Content-Encoding": "gzip"}
        )
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed")


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"items":[{"a":'])
async def test_json_that_is_too_deep_is_refused(site: Site, opening: str) -> None:
    """Wherever a route takes any JSON, and where it does not."""
    deep = opening * 100_000
    async with site.client() as client:
        for path in ("executions", "executions:batch", "schedules", "graphs", "signals/x~w1"):
            for body in (deep, f'{{"kind": "k", "input": {deep}', f'{{"payload": {deep}'):
                refused = await client.post(f"/v1/{path}", content=body)
                assert refused.status_code in {400, 422}, refused.text[:200]


async def test_many_calls_in_one_packet_are_answered_in_order(site: Site) -> None:
    """A caller who waits for no answer holds nobody up."""
    async with calling(site) as caller:
        await caller.say((HEALTH + b"\r\n") * 500)
        assert {(await caller.answer())[0] for _ in range(500)} == {200}


async def test_calls_are_read_no_faster_than_they_are_answered(site: Site) -> None:
    """They need memory while they wait; one packet of them may."""
    call = HEALTH + b"\r\n"
    async with calling(site) as caller:
        sending = asyncio.ensure_future(caller.say(call * 50_000))
        most = 0
        for _ in range(300):
            await caller.answer()
            (connection,) = site.server.server_state.connections
            most = max(most, len(connection.pipeline))  # type: ignore[union-attr]
        sending.cancel()
    assert 0 < most <= connections.PIECE_BYTES // len(call) + 1


async def test_a_live_stream_ends_with_its_connection(site: Site) -> None:
    """Also if another call waits behind it."""
    await site.engine.submit("k", id="x")
    tails = site.server._services.tails

    async def is_open() -> bool:
        return tails.total == 1

    async def is_closed() -> bool:
        return tails.total == 0

    async with calling(site) as caller:
        stream = b"GET /v1/executions/x/stream HTTP/1.1\r\nhost: localhost\r\n"
        await caller.say(stream + b"accept: text/event-stream\r\n\r\n" + HEALTH + b"\r\n")
        await wait_for(is_open)
    await wait_for(is_closed)


async def test_a_caller_who_reads_no_answers_is_cut_off(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls without end, answers that nobody takes."""
    monkeypatch.setattr(connections, "UNREAD_S", 0.1)
    url = httpx.URL(site.url)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(deaf, (url.host, url.port))
        call = b"GET /docs HTTP/1.1\r\nhost: localhost\r\n\r\n"
        # It returns when there is an error: the server has hung up.
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    await loop.sock_sendall(deaf, call * 100)
    await still_serves(site)


async def test_a_live_stream_that_nobody_reads_ends(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place is free again, though its time is not over and its caller has not left."""
    monkeypatch.setattr(connections, "UNREAD_S", 0.1)
    async with serve(most_tails=1) as site, site.client() as client:
        url = httpx.URL(site.url)
        await site.engine.submit("k", id="x")
        async with site.engine.claimer(worker="w", lanes=["default"]) as claimer:
            (claim,) = await claimer.claim(1, 60_000)
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            deaf.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(deaf, (url.host, url.port))
            call = b"GET /v1/executions/x/stream HTTP/1.1\r\nhost: localhost\r\n"
            await loop.sock_sendall(deaf, call + b"accept: text/event-stream\r\n\r\n")
            tails = site.server._services.tails

            async def is_open() -> bool:
                return tails.total == 1

            await wait_for(is_open)
            again = await client.get(
                "/v1/executions/x/stream", headers={"Accept": "text/event-stream"}
            )
            assert (again.status_code, again.json()["code"]) == (429, "rate_limited")
            lease = {
                "id": claim.lease.id,
                "epoch": claim.lease.epoch,
                "attempt": claim.lease.attempt,
            }
            frames = [{"type": "text", "payload": "a" * 60_000}] * 10
            body = {"lease": lease, "frames": frames}

            async def is_closed() -> bool:
                sent = await client.post("/v1/executions/x/frames", json=body)
                assert sent.status_code in {200, 201, 204, 413, 422, 429}, sent.text
                return tails.total == 0

            await wait_for(is_closed)


async def test_guesses_of_keys_are_few_and_lock_nobody_out(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither does the store look for each of them."""
    monkeypatch.setattr(app, "NEW_KEYS", 1)
    async with serve() as site, site.client() as client:
        right = await site.key()
        identities = site.server._services.identities

        async def status(secret: str) -> int:
            headers = {"Authorization": f"Bearer {secret}"}
            return (await client.get("/v1/me", headers=headers)).status_code

        assert await status(right) == 200
        statuses = await asyncio.gather(*(status(new_secret()) for _ in range(30)))
        assert set(statuses) == {401, 429}
        # Those that were looked up, the right one, and the number of keys.
        assert len(identities._unknown) == statuses.count(401)
        assert len(identities._remembered) == 2
        assert await status(right) == 200
        refused = await client.post(
            "/console/login", json={"key": new_secret()}, headers={"X-Holdfast-Console": "1"}
        )
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert "new API keys from one address" in refused.json()["detail"]


async def test_guesses_do_not_push_out_keys_that_were_seen(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: a key that was seen is not new again."""
    monkeypatch.setattr(app, "NEW_KEYS", 5)
    monkeypatch.setattr(identity, "_MOST_REMEMBERED", 3)
    async with serve() as site, site.client() as client:
        right = await site.key()

        async def status(secret: str) -> int:
            headers = {"Authorization": f"Bearer {secret}"}
            return (await client.get("/v1/me", headers=headers)).status_code

        assert await status(right) == 200
        while await status(new_secret()) != 429:
            pass
        assert await status(right) == 200
