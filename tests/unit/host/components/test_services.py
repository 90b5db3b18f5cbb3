"""What components may ask of the host, and what they are refused."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from aiohttp import web

from holdfast.errors import InvalidPack
from holdfast.host.components import Components, Sandbox, Services
from holdfast.host.flows.runners import NodeFailed
from holdfast.host.vault import Vault
from holdfast.host.web.client import Web
from tests.support import wat
from tests.support.components import Keeper, call_of, loaded, pack_of
from tests.support.web import Names, serving

SECRETS = {("acme", "API_KEY"): "s3cret-of-acme", ("other", "THEIRS"): "s3cret-of-other"}
VAULT = Vault(Keeper(SECRETS))
CODE = """
def run(input, host):
    return len(host.secret("API_KEY"))

def leak(input, host):
    return {"key": host.secret("API_KEY")}

def leak_words(input, host):
    host.fail("odd", "the key is " + host.secret("API_KEY"))

def leak_reply(input, host):
    host.emit(text=host.secret("API_KEY"))

def leak_log(input, host):
    host.log("the key is\\n" + host.secret("API_KEY"), level="warning")

def undeclared(input, host):
    return host.secret("ELSEWHERE")

def theirs(input, host):
    return host.secret("THEIRS")

def caught(input, host):
    try:
        return host.secret("ELSEWHERE")
    except host.Failed as failure:
        return failure.error["code"]

def fetch(input, host):
    return host.http("POST", input, json={"a": 1}, secret_headers={"x-key": "API_KEY"})

def many(input, host):
    for _ in range(1001):
        host.log("x", level="debug")

def talk(input, host):
    for _ in range(51):
        host.emit(text="x")

def keep(input, host):
    host.state.get("x")
"""
OPERATIONS = [
    *("run", "leak", "leak_words", "leak_reply", "leak_log", "undeclared", "theirs", "caught"),
    *("fetch", "many", "talk", "keep"),
]


async def failure_of(components: Components, operation: str, given: Any = None) -> NodeFailed:
    """Return how a call fails."""
    with pytest.raises(NodeFailed) as caught:
        await components(call_of("py", given, operation=operation))
    return caught.value


async def test_secrets_are_declared_and_stay_secret(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """A component reads secrets that its pack declares; no output, reply, error or log has them."""
    pack = pack_of(
        {"py": ("python", CODE)}, more="secrets: [API_KEY, THEIRS]", operations=OPERATIONS
    )
    async with loaded(pack, sandbox, Services(vault=VAULT)) as components:
        assert await components(call_of("py")) == len("s3cret-of-acme")
        assert (await failure_of(components, "leak")).code == "component_denied"
        assert (await failure_of(components, "leak_reply")).code == "component_denied"
        words = await failure_of(components, "leak_words")
        assert (words.code, str(words)) == ("odd", "the key is ***")
        with caplog.at_level(logging.WARNING, "holdfast.components"):
            await components(call_of("py", operation="leak_log"))
        assert "s3cret" not in caplog.text
        assert "demo.py of acme, e1: 'the key is\\n***'" in caplog.text
        denied = await failure_of(components, "undeclared")
        assert (denied.code, denied.details) == ("component_denied", {"code": "secret_denied"})
        denied = await failure_of(components, "theirs")
        assert (denied.code, denied.details) == ("component_denied", {"code": "secret_missing"})
        assert await components(call_of("py", operation="caught")) == "secret_denied"


async def test_wasm_is_refused_secrets_as_python_is(sandbox: Sandbox) -> None:
    """An undeclared secret and one of another tenant end the call with the reason."""
    names = {"undeclared": "ELSEWHERE", "theirs": "THEIRS"}
    programs = {
        name: ("wasm", wat.insisting(json.dumps({"call": "secret.get", "name": secret})))
        for name, secret in names.items()
    }
    pack = pack_of(programs, more="secrets: [THEIRS]")
    async with loaded(pack, sandbox, Services(vault=VAULT)) as components:
        for name, code in (("undeclared", "secret_denied"), ("theirs", "secret_missing")):
            with pytest.raises(NodeFailed) as failure:
                await components(call_of(name))
            assert failure.value.code == "component_denied"
            assert failure.value.details == {"code": code}


async def test_requests_of_a_call_are_bounded(sandbox: Sandbox) -> None:
    """A call cannot keep the host busy with requests, nor flood the user."""
    pack = pack_of({"py": ("python", CODE)}, operations=OPERATIONS)
    async with loaded(pack, sandbox) as components:
        assert (await failure_of(components, "many")).code == "too_many_requests"
        assert (await failure_of(components, "talk")).code == "too_many_replies"
        denied = await failure_of(components, "keep")
        assert (denied.code, denied.details) == ("component_denied", {"code": "not_supported"})


async def test_web_calls_stay_on_the_list_and_off_private_addresses(sandbox: Sandbox) -> None:
    """A name that resolves to loopback on the second look is refused, like a host off the list."""
    seen: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request)
        return web.json_response({"ok": await request.json()})

    async with serving({"/x": answer}) as port:
        rebound = Names({"api.example.com": [["127.0.0.1"]]})
        allow = f"http_allow: ['api.example.com:{port}']\nsecrets: [API_KEY]"
        pack = pack_of({"py": ("python", CODE)}, more=allow, operations=OPERATIONS)
        url = f"http://api.example.com:{port}/x"
        strict = Web(resolver=rebound)
        async with loaded(pack, sandbox, Services(vault=VAULT, web=strict)) as components:
            for target in (url, f"http://other.example.com:{port}/x", f"http://127.0.0.1:{port}/x"):
                denied = await failure_of(components, "fetch", target)
                assert (denied.code, denied.details) == (
                    "component_denied",
                    {"code": "http_denied"},
                )
        await strict.close()
        assert not seen
        loose = Web(resolver=rebound, allow_private=[f"127.0.0.1:{port}"])
        async with loaded(pack, sandbox, Services(vault=VAULT, web=loose)) as components:
            found = await components(call_of("py", url, operation="fetch"))
        await loose.close()
    assert (found["status"], found["body"]) == (200, {"ok": {"a": 1}})
    assert seen[0].headers["x-key"] == "s3cret-of-acme"
    assert seen[0].headers["idempotency-key"] == "e1/1.main.find:1"


async def test_an_http_component_posts_the_call(sandbox: Sandbox) -> None:
    """The server gets the call with its idempotency key; its JSON is the output."""

    async def answer(request: web.Request) -> web.Response:
        given = await request.json()
        assert request.headers["idempotency-key"] == "e1/1.main.find"
        replies = {
            "echo": web.json_response(given),
            "nothing": web.Response(status=204),
            "words": web.Response(text="no JSON"),
            "busy": web.Response(status=503, headers={"retry-after": "2"}),
            "broken": web.Response(status=500),
            "refuse": web.json_response({"error": {"code": "not_found"}}, status=404),
            "mixed": web.Response(status=404, body=b'{"error": "\xff"}'),
            "large": web.json_response("x" * 300_000),
            "away": web.Response(status=302, headers={"location": "http://example.org/"}),
        }
        return replies[given["input"]]

    async with serving({"/x": answer}) as port:
        address = f"127.0.0.1:{port}"
        pack = pack_of({"web": ("http", f"http://{address}/x")})
        client = Web(allow_private=[address])
        async with loaded(pack, sandbox, Services(web=client)) as components:
            found = await components(call_of("web", "echo"))
            assert (found["operation"], found["call"]["tenant"]) == ("run", "acme")
            assert await components(call_of("web", "nothing")) is None
            codes = {}
            for given in ("words", "busy", "broken", "refuse", "mixed", "large", "away"):
                with pytest.raises(NodeFailed) as failure:
                    await components(call_of("web", given))
                codes[given] = (failure.value.code, failure.value.retry_after_ms)
        await client.close()
        strict = Web()
        async with loaded(pack, sandbox, Services(web=strict)) as components:
            with pytest.raises(NodeFailed) as failure:
                await components(call_of("web", "echo"))
            assert failure.value.code == "component_denied"
        await strict.close()
    assert codes == {
        "words": ("component_invalid_output", 0),
        "busy": ("component_unreachable", 2_000),
        "broken": ("component_failed", 0),
        "refuse": ("not_found", 0),
        "mixed": ("component_failed", 0),
        "large": ("component_output_too_large", 0),
        "away": ("component_denied", 0),
    }


async def test_an_http_component_needs_a_host_with_the_web(sandbox: Sandbox) -> None:
    """A pack that cannot work is refused when it is loaded."""
    with pytest.raises(InvalidPack, match="needs the web"):
        await Components.load(pack_of({"web": ("http", "http://example.org/")}), sandbox)
