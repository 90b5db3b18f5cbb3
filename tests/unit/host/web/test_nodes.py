"""`http` nodes: outputs, secrets, servers that are busy."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from aiohttp import web

from holdfast.errors import SecretNotFound, StoreUnavailable
from holdfast.host.flows.runners import HttpCall, Invocation, NodeFailed, Secret
from holdfast.host.grants import Grant
from holdfast.host.vault import Vault
from holdfast.host.web import Web
from holdfast.host.web.nodes import HttpNodes, retry_after_ms
from tests.support.web import serving

VALUE = "s3cret-value"


class Keeper:
    """Knows one secret of one tenant."""

    async def reveal(self, name: str, *, tenant: str, env: str) -> str:
        """Return it."""
        if name == "away":
            raise StoreUnavailable("the store is away")
        if (name, tenant, env) != ("api_key", "acme", "prod"):
            raise SecretNotFound("no such secret")
        return VALUE


def _about(**changes: Any) -> Invocation:
    given = {"execution": "e", "tenant": "acme", "env": "prod", "flow": "main", "node": "get",
             "idempotency_key": "key-1", "timeout_ms": 5_000, **changes}  # fmt: skip
    return Invocation(**given)


def _call(url: str, **changes: Any) -> HttpCall:
    given = {"method": "GET", "url": url, "headers": {}, "json": None, "has_body": False,
             "about": _about(), **changes}  # fmt: skip
    return HttpCall(**given)


async def _run(port: int, call: HttpCall) -> Any:
    client = Web(allow_private=[f"127.0.0.1:{port}"])
    secrets = frozenset({"api_key", "unset", "away"})
    grant = Grant(pack="shop", hosts=("127.0.0.1",), secrets=secrets)
    try:
        return await HttpNodes(client, Vault(Keeper()), {"main": grant})(call)
    finally:
        await client.close()


async def _echo(request: web.Request) -> web.Response:
    headers = {name.lower(): value for name, value in request.headers.items()}
    body = (await request.read()).decode()
    return web.json_response({"method": request.method, "headers": headers, "body": body})


async def test_json_in_and_out() -> None:
    """A body is sent as JSON, with the node's idempotency key, and JSON comes back."""
    async with serving({"/": _echo}) as port:
        url = f"http://127.0.0.1:{port}/"
        out = await _run(port, _call(url, method="POST", json={"a": 1}, has_body=True))
        assert out["status"] == 200
        assert out["headers"]["content-type"].startswith("application/json")
        assert out["body"]["body"] == '{"a":1}'
        assert out["body"]["headers"]["content-type"] == "application/json"
        assert out["body"]["headers"]["idempotency-key"] == "key-1"
        out = await _run(port, _call(url))
        assert "idempotency-key" not in out["body"]["headers"]


async def test_other_statuses_and_texts_are_outputs() -> None:
    """A flow decides what a status means, and text stays text."""

    async def lost(_: web.Request) -> web.Response:
        return web.Response(status=404, body="verloren ö".encode("latin-1"),
                            headers={"Content-Type": "text/plain; charset=latin-1"})  # fmt: skip

    async def wrong(_: web.Request) -> web.Response:
        return web.Response(body=b"{", content_type="application/json")

    async def mixed(_: web.Request) -> web.Response:
        return web.Response(body=b'{"a": "\xff"}', content_type="application/json")

    async with serving({"/": lost, "/wrong": wrong, "/mixed": mixed}) as port:
        out = await _run(port, _call(f"http://127.0.0.1:{port}/"))
        assert (out["status"], out["body"]) == (404, "verloren ö")
        for path in ("wrong", "mixed"):
            with pytest.raises(NodeFailed) as failure:
                await _run(port, _call(f"http://127.0.0.1:{port}/{path}"))
            assert failure.value.code == "http_bad_response"


@pytest.mark.parametrize("charset", ["nothing", "idna", "punycode", "undefined", "rot13"])
async def test_a_charset_that_cannot_be_read_is_taken_for_utf_8(charset: str) -> None:
    """Whatever a server says, its text does not fail the node."""

    async def odd(_: web.Request) -> web.Response:
        kind = f"text/plain; charset={charset}"
        return web.Response(body=b"\xc3\xb6 \xff", headers={"Content-Type": kind})

    async with serving({"/": odd}) as port:
        out = await _run(port, _call(f"http://127.0.0.1:{port}/"))
    assert out["body"] == "ö \N{REPLACEMENT CHARACTER}"


async def test_the_host_fills_in_secrets(caplog: pytest.LogCaptureFixture) -> None:
    """The server gets the secret, and nobody else: it is in no log and no failure."""
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []

    async def check(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(status=503, headers={"Retry-After": "2"})

    async with serving({"/": check}) as port:
        call = _call(f"http://127.0.0.1:{port}/", headers={"Authorization": Secret(name="api_key")})
        with pytest.raises(NodeFailed) as failure:
            await _run(port, call)
    assert seen == [VALUE]
    assert (failure.value.code, failure.value.retryable) == ("http_busy", True)
    assert failure.value.retry_after_ms == 2_000
    shown = f"{caplog.text} {failure.value!r} {failure.value.as_value()} {call!r}"
    assert VALUE not in shown


@pytest.mark.parametrize(
    ("name", "tenant", "code", "retryable"),
    [
        ("api_key", "other", "secret_missing", False),
        ("unset", "acme", "secret_missing", False),
        ("undeclared", "acme", "secret_denied", False),
        ("away", "acme", "secret_unavailable", True),
    ],
)
async def test_a_secret_that_is_not_the_tenants_is_a_failure(
    name: str, tenant: str, code: str, *, retryable: bool
) -> None:
    """Nothing is sent without the secret: of another tenant, not declared, not there."""
    headers = {"Authorization": Secret(name=name)}
    call = _call("http://127.0.0.1:1/", headers=headers, about=_about(tenant=tenant))
    with pytest.raises(NodeFailed) as failure:
        await _run(1, call)
    assert (failure.value.code, failure.value.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("0", 0, 0),
        ("1", 1_000, 1_000),
        ("999999999999999999999", 3_600_000, 3_600_000),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("Wed, 21 Oct 2255 07:28:00 GMT", 3_600_000, 3_600_000),
        ("soon", 0, 0),
        ("-5", 0, 0),
        ("", 0, 0),
    ],
)
def test_retry_after_is_read(text: str, least: int, most: int) -> None:
    """Seconds and dates are understood, within bounds; all else means no delay."""
    assert least <= retry_after_ms({"retry-after": text}) <= most
