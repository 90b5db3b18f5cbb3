"""The web as packs may use it: hosts, addresses, redirects, bounds."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from holdfast.host.flows.runners import NodeFailed
from holdfast.host.web import Request, Response, Web
from tests.support.web import Names, raw_serving, serving

MOST = 1_000


def _request(url: str, **changes: Any) -> Request:
    given = {"method": "GET", "url": url, "timeout_ms": 5_000, "most_bytes": MOST, **changes}
    return Request(**given)


async def _failure(client: Web, request: Request, *allowed: str) -> NodeFailed:
    with pytest.raises(NodeFailed) as failure:
        await client.send(request, allowed)
    return failure.value


@contextlib.asynccontextmanager
async def _client(port: int, **names: list[list[str]]) -> AsyncIterator[Web]:
    resolver = Names({f"{name}.test": answers for name, answers in names.items()})
    client = Web(allow_private=[f"127.0.0.1:{port}"], resolver=resolver)
    try:
        yield client
    finally:
        await client.close()


async def _echo(request: web.Request) -> web.Response:
    body = (await request.read()).decode()
    headers = {name.lower(): value for name, value in request.headers.items()}
    return web.json_response({"method": request.method, "headers": headers, "body": body})


async def _get(client: Web, request: Request, *allowed: str) -> Response:
    return await client.send(request, allowed)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://other.test/", "http_denied"),
        ("http://evil.api.test/", "http_denied"),
        ("http://api.test.evil.test/", "http_denied"),
        ("http://user:password@api.test/", "http_denied"),
        ("http://other.test@api.test/", "http_denied"),
        ("http://api.test:81/", "http_denied"),
        ("http://api.test\\@other.test/", "http_invalid"),
        ("file:///etc/passwd", "http_invalid"),
        ("gopher://api.test/", "http_invalid"),
        ("//api.test/", "http_invalid"),
        ("api.test", "http_invalid"),
        ("", "http_invalid"),
        ("http://", "http_invalid"),
        ("http://api.test:99999/", "http_invalid"),
        ("http://api.test/\r\nX-Evil: 1", "http_invalid"),
        ("http://api.test/ HTTP/1.1", "http_invalid"),
        ("http://[::1/", "http_invalid"),
        ("http://" + "a" * 64 + ".api.test/", "http_invalid"),
        ("http://a..api.test/", "http_invalid"),
        ("http://xn--a.api.test/", "http_invalid"),
        ("http://api.test/" + "a" * 9_000, "http_invalid"),
    ],
)
async def test_urls_outside_the_list_are_refused(url: str, code: str) -> None:
    """Only hosts on the list are called, however the URL is written."""
    async with _client(1, api=[["8.8.8.8"]]) as client:
        assert (await _failure(client, _request(url), "api.test:80")).code == code


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "0.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1",
     "169.254.169.254", "[::ffff:127.0.0.1]", "10.0.0.1", "127。0。0。1"],
)  # fmt: skip
async def test_a_pack_cannot_list_a_private_address(host: str) -> None:
    """A pack that lists an address of the host's network still does not reach it."""
    async with serving({"/": _echo}) as port:
        client = Web()
        name = host.replace("。", ".").strip("[]")
        try:
            allowed = (name, "localhost", "127.0.0.1")
            failure = await _failure(client, _request(f"http://{host}:{port}/"), *allowed)
            assert failure.code in {"http_denied", "http_invalid", "http_unreachable"}
        finally:
            await client.close()


async def test_a_name_with_a_private_address_is_refused() -> None:
    """The address counts, not the name; the failure does not say what the address is."""
    async with serving({"/": _echo}) as port, _client(1, api=[["127.0.0.1"]]) as client:
        failure = await _failure(client, _request(f"http://api.test:{port}/"), "api.test")
        assert failure.code == "http_denied"
        assert "127" not in str(failure)
        assert not failure.retryable


async def test_dns_rebinding_gains_nothing() -> None:
    """A name that is public first and loopback next is refused when it is loopback."""
    answers = [["127.0.0.1"], ["10.0.0.1", "127.0.0.2"], ["::ffff:127.0.0.3"]]
    async with serving({"/": _echo}) as port, _client(port, api=answers) as client:
        # The first answer is permitted, so that a server answers; later calls resolve again.
        url = f"http://api.test:{port}/"
        request = _request(url, headers={"X-Close": "1"})
        assert (await _get(client, request, "api.test")).status == 200
        await client.close()
        for _ in range(2):
            assert (await _failure(client, _request(url), "api.test")).code == "http_denied"
            await client.close()


async def test_every_redirect_is_checked() -> None:
    """Redirects are followed within the list, and refused out of it, also to other addresses."""

    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": request.query["to"]})

    handlers = {"/": _echo, "/to": redirect}
    answers = {"api": [["127.0.0.1"]], "inner": [["127.0.0.2"]], "other": [["127.0.0.1"]]}
    async with serving(handlers) as port, _client(port, **answers) as client:

        async def send(to: str) -> Any:
            request = _request(f"http://api.test:{port}/to?to={to}")
            return await client.send(request, ("api.test", "inner.test"))

        assert (await send("/")).status == 200
        assert (await send(f"http://api.test:{port}/")).status == 200
        for to in (
            f"http://other.test:{port}/",
            f"http://inner.test:{port}/",
            f"//other.test:{port}/",
            f"http://127.0.0.1:{port}/",
            "file:///etc/passwd",
            f"/to?to=/to%3Fto%3Dhttp://other.test:{port}/",
        ):
            with pytest.raises(NodeFailed) as failure:
                await send(to)
            assert failure.value.code in {"http_denied", "http_invalid"}, to


async def test_redirects_have_an_end() -> None:
    """A server that redirects for ever is refused."""
    hops = 0

    async def again(request: web.Request) -> web.Response:
        nonlocal hops
        hops += 1
        return web.Response(status=302, headers={"Location": str(request.rel_url)})

    async with serving({"/": again}) as port, _client(port) as client:
        url = f"http://127.0.0.1:{port}/"
        assert (await _failure(client, _request(url), "127.0.0.1")).code == "http_denied"
        assert hops == 6


async def test_secrets_do_not_follow_a_redirect_to_another_server() -> None:
    """Another origin gets neither headers with secrets nor credentials."""

    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": f"http://b.test:{request.url.port}/"})

    names = {"a": [["127.0.0.1"]], "b": [["127.0.0.1"]]}
    async with serving({"/": _echo, "/to": redirect}) as port, _client(port, **names) as client:
        request = _request(
            f"http://a.test:{port}/to",
            method="POST",
            headers={"Authorization": "Basic s3cret", "X-Plain": "plain"},
            secret_headers={"X-Key": "s3cret"},
            body=b"{}",
        )
        body = (await _get(client, request, "*.test")).body.decode()
        assert "s3cret" not in body
        assert "plain" in body
        assert '"POST"' in body
        assert "s3cret" not in repr(request)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("X-A", "a\r\nX-Evil: 1", "http_invalid"),
        ("X-A", "a\n", "http_invalid"),
        ("X-A", "a\0", "http_invalid"),
        ("X-A", "\ud800", "http_invalid"),
        ("X-A", "a" * 9_000, "http_invalid"),
        ("X A", "a", "http_invalid"),
        ("X-A:", "a", "http_invalid"),
        ("", "a", "http_invalid"),
        ("Host", "other.test", "http_denied"),
        ("Transfer-Encoding", "chunked", "http_denied"),
        ("Content-Length", "0", "http_denied"),
        ("Connection", "close", "http_denied"),
        ("Proxy-Authorization", "a", "http_denied"),
    ],
)
async def test_headers_cannot_inject(name: str, value: str, code: str) -> None:
    """Headers that would change the request are refused before anything is sent."""
    async with _client(1) as client:
        request = _request("http://127.0.0.1:1/", headers={name: value})
        failure = await _failure(client, request, "127.0.0.1")
        assert failure.code == code
        if value not in {"a", "0", "close"}:
            assert value not in str(failure)


async def test_a_large_response_is_cut_off() -> None:
    """A body is read up to its bound, whether the server names its length or never ends."""

    async def long(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * (MOST + 1))

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(b"x" * 100)
        return response

    async def exact(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * MOST)

    handlers = {"/long": long, "/endless": endless, "/exact": exact}
    async with serving(handlers) as port, _client(port) as client:
        for path in ("long", "endless"):
            request = _request(f"http://127.0.0.1:{port}/{path}")
            assert (await _failure(client, request, "127.0.0.1")).code == "http_too_large"
        response = await _get(client, _request(f"http://127.0.0.1:{port}/exact"), "127.0.0.1")
        assert len(response.body) == MOST


async def test_compressed_responses_are_bounded_when_they_expand() -> None:
    """Compression is undone within the bound: a bomb is refused before it expands."""
    bodies = {
        "/bomb": ("gzip", gzip.compress(b"x" * 100_000)),
        "/fit": ("gzip", gzip.compress(b"x" * MOST)),
        "/deflate": ("deflate", zlib.compress(b"hello")),
        "/members": ("gzip", gzip.compress(b"a") + gzip.compress(b"b")),
        "/cut": ("gzip", gzip.compress(b"hello")[:-9]),
        "/broken": ("gzip", b"hello"),
        "/other": ("br", b"hello"),
        "/twice": ("gzip, gzip", b"hello"),
    }

    async def serve(request: web.Request) -> web.Response:
        encoding, body = bodies[request.path]
        return web.Response(body=body, headers={"Content-Encoding": encoding})

    async with serving(dict.fromkeys(bodies, serve)) as port, _client(port) as client:

        async def read(path: str) -> bytes | str:
            try:
                request = _request(f"http://127.0.0.1:{port}{path}")
                return (await client.send(request, ("127.0.0.1",))).body
            except NodeFailed as failure:
                return failure.code

        assert await read("/bomb") == "http_too_large"
        assert await read("/fit") == b"x" * MOST
        assert await read("/deflate") == b"hello"
        assert await read("/members") == b"ab"
        for path in ("/cut", "/broken", "/other", "/twice"):
            assert await read(path) == "http_bad_response"


async def test_a_server_that_never_answers_is_given_up() -> None:
    """The time is that of the whole call: connection, headers and body."""

    async def never(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if request.query.get("begin"):
            await response.prepare(request)
            await response.write(b"x")
        await asyncio.Event().wait()
        return response

    async with serving({"/": never}) as port, _client(port) as client:
        for query in ("", "?begin=1"):
            request = _request(f"http://127.0.0.1:{port}/{query}", timeout_ms=100)
            failure = await _failure(client, request, "127.0.0.1")
            assert failure.code == "http_timeout"
            assert failure.retryable


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", b"SSH-2.0-x\r\n\r\n",
     b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
     b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"],
)  # fmt: skip
async def test_broken_servers_are_failures(answer: bytes) -> None:
    """A server that does not speak HTTP, or stops, is a failure of the call."""
    async with raw_serving(answer) as port, _client(port) as client:
        failure = await _failure(client, _request(f"http://127.0.0.1:{port}/"), "127.0.0.1")
        assert failure.code == "http_unreachable"


async def test_a_name_that_does_not_exist_is_unreachable() -> None:
    """No address, and no server at the address, are failures that can be retried."""
    async with raw_serving(b"") as port:
        pass
    async with _client(port) as client:
        for url in ("http://none.test/", f"http://127.0.0.1:{port}/"):
            failure = await _failure(client, _request(url), "none.test", "127.0.0.1")
            assert (failure.code, failure.retryable) == ("http_unreachable", True)


async def test_calls_share_no_cookies() -> None:
    """A cookie that one call gets is not sent by the next, which may be of another tenant."""

    async def cookie(request: web.Request) -> web.Response:
        response = web.json_response(dict(request.cookies))
        response.set_cookie("session", "1")
        return response

    async with serving({"/": cookie}) as port, _client(port) as client:
        for _ in range(2):
            response = await _get(client, _request(f"http://127.0.0.1:{port}/"), "127.0.0.1")
            assert response.body == b"{}"
