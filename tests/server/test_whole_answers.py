"""Answers that are written in one piece: the same bytes as those that are sent in two."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.server.conftest import Site

CREATE = (
    b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 15\r\n%b\r\n"
    b'{"kind":"mail"}'
)
#: Deadlines cost nothing where a test passes.
PATIENCE_S = 60


async def _exchange(site: Site, data: bytes) -> bytes:
    """Send bytes, and read until the server hangs up."""
    url = httpx.URL(site.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        writer.write(data)
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
async def test_a_caller_who_wants_no_more_gets_the_answer_and_the_end(
    site: Site, version: bytes
) -> None:
    """The head has each header once, and says that the connection closes."""
    call = (CREATE % b"connection: close\r\n").replace(b"HTTP/1.1", version)
    head, _, body = (await _exchange(site, call)).partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    names = [line.split(b": ")[0] for line in lines]
    assert status == b"HTTP/1.1 201 Created"
    assert sorted(names) == sorted(set(names))
    assert {b"x-request-id", b"date", b"cache-control", b"x-content-type-options"} <= {*names}
    assert b"connection: close" in lines
    assert b"content-length: %d" % len(body) in lines


async def test_answers_of_calls_in_one_packet_are_whole(site: Site) -> None:
    """Each is followed by the next one, and the last by the end."""
    calls = CREATE % b"" * 20 + CREATE % b"connection: close\r\n"
    answers = (await _exchange(site, calls)).split(b"HTTP/1.1 201 Created\r\n")[1:]
    assert len(answers) == 21
    assert all(b'"state":"waiting"' in answer for answer in answers)


async def test_a_question_for_the_head_gets_no_body(site: Site) -> None:
    """The length is that of the answer to GET."""
    async with site.client() as client:
        whole = await client.get("/v1/lanes")
        head = await client.head("/v1/lanes")
    assert head.content == b""
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert head.headers.keys() == whole.headers.keys()
