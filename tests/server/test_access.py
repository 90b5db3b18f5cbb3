"""Who may call: open servers, keys that end, limits, pages of other origins."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from holdfast.engine import Engine
from holdfast.errors import InvalidInput, StoreIncompatible
from holdfast.model.api_keys import id_of
from holdfast.server import run
from holdfast.server.auth import identity
from holdfast.server.settings import ServerSettings, parse_listen
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.server.conftest import Serve, Site


async def test_without_keys_everybody_on_the_machine_is_the_operator(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """Of tenant `default`, unless a call names another."""
    plain = await anyone.post("/v1/executions", json={"kind": "k"})
    named = await anyone.post("/v1/executions", json={"kind": "k", "tenant": "acme"})
    assert await site.engine.owner(plain.json()["id"]) == "default"
    assert await site.engine.owner(named.json()["id"]) == "acme"

    async def listed(**params: str) -> list[str]:
        page = (await anyone.get("/v1/executions", params=params)).json()
        return sorted(item["tenant"] for item in page["items"])

    assert await listed() == ["default"]
    assert await listed(tenant="acme") == ["acme"]
    assert await listed(tenant="*") == ["acme", "default"]
    claimed = await anyone.post("/v1/workers/w/claim", json={"lanes": ["default"], "max": 9})
    assert len(claimed.json()["claims"]) == 2


async def test_an_open_server_says_so_and_takes_any_key(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    """Every call is the operator's; with a key in the store only those with a valid one."""
    async with serve() as site, site.client("hf_" + "x" * 40) as client:
        assert "there is no API key: only loopback is served" in caplog.text
        assert (await client.get("/v1/lanes")).status_code == 200
        await client.post("/v1/keys", json={"roles": ["admin"]})
        assert (await client.get("/v1/lanes")).status_code == 401


async def test_the_first_key_closes_an_open_server(
    site: Site, anyone: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once where it was created over HTTP, elsewhere as soon as the answer is not fresh."""
    assert (await anyone.get("/v1/lanes")).status_code == 200
    created = await anyone.post("/v1/keys", json={"roles": ["admin"]})
    assert created.status_code == 201
    assert created.headers["cache-control"] == "no-store"
    assert (await anyone.get("/v1/lanes")).status_code == 401
    async with site.client(created.json()["secret"]) as client:
        assert (await client.get("/v1/lanes")).status_code == 200


async def test_a_key_created_elsewhere_closes_the_server_soon(
    site: Site, anyone: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The staleness is bounded."""
    monkeypatch.setattr(identity, "FRESH_S", 0.05)
    assert (await anyone.get("/v1/lanes")).status_code == 200
    await site.key()

    async def closed() -> bool:
        return (await anyone.get("/v1/lanes")).status_code == 401

    await wait_for(closed)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
async def test_pages_from_elsewhere_cannot_use_an_open_server(
    anyone: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    """Neither by a foreign origin nor by a name that somebody else resolves to us."""
    response = await anyone.post("/v1/executions", json={"kind": "k"}, headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


async def test_a_key_ends_when_it_expires(site: Site, clock: Clock) -> None:
    """The store's clock decides."""
    secret = await site.key(ttl_ms=60_000)
    async with site.client(secret) as client:
        assert (await client.get("/v1/lanes")).status_code == 200
        await clock.advance(60_000)
        site.server._services.identities.forget(id_of(secret))
        refused = await client.get("/v1/lanes")
    assert (refused.status_code, refused.json()["detail"]) == (401, "the API key has expired")


async def test_a_key_ends_when_it_is_revoked(site: Site, operator: httpx.AsyncClient) -> None:
    """At once on the server that revokes it."""
    secret = await site.key()
    async with site.client(secret) as client:
        assert (await client.get("/v1/lanes")).status_code == 200
        assert (await operator.delete(f"/v1/keys/{id_of(secret)}")).status_code == 204
        refused = await client.get("/v1/lanes")
    assert (refused.status_code, refused.json()["detail"]) == (401, "the API key was revoked")


async def test_the_last_use_of_a_key_is_noted(site: Site, clock: Clock) -> None:
    """Beside the call, to the minute."""
    secret = await site.key()
    await clock.advance(1_000)
    async with site.client(secret) as client:
        await client.get("/v1/lanes")

    async def noted() -> bool:
        (key,) = await site.engine.api_keys.list()
        return key.last_used_at == clock.now

    await wait_for(noted)


async def test_no_secret_is_ever_shown_again(site: Site, operator: httpx.AsyncClient) -> None:
    """Neither in lists nor in the audit log; only a digest is stored."""
    created = await operator.post("/v1/keys", json={"roles": ["viewer"], "name": "n"})
    secret = created.json()["secret"]
    for path in ("/v1/keys", "/v1/audit"):
        text = (await operator.get(path)).text
        assert secret not in text
        assert created.json()["id"] in text or path == "/v1/audit"


async def test_the_audit_log_since_long_ago_is_all_of_it(operator: httpx.AsyncClient) -> None:
    """Whatever year that is."""
    await operator.post("/v1/keys", json={"roles": ["viewer"]})
    query = {"since": "0097-05-21T00:00:19Z"}
    assert len((await operator.get("/v1/audit", params=query)).json()["items"]) == 1


async def test_a_tenants_admin_manages_its_own_keys_only(site: Site) -> None:
    """It can make none for others, and sees and revokes only its own."""
    theirs = await site.key(tenant="theirs")
    async with site.client(await site.key(tenant="ours")) as client:
        made = await client.post("/v1/keys", json={"roles": ["admin"]})
        assert made.json()["tenant"] == "ours"
        other = await client.post("/v1/keys", json={"roles": ["admin"], "tenant": "theirs"})
        assert other.status_code == 403
        listed = (await client.get("/v1/keys")).json()["items"]
        assert {key["tenant"] for key in listed} == {"ours"}
        missing = await client.delete(f"/v1/keys/{id_of(theirs)}")
        assert (missing.status_code, missing.json()["code"]) == (404, "key_not_found")


async def test_calls_of_a_key_are_limited(serve: Serve) -> None:
    """429 with a time to wait; other keys are not concerned."""
    async with serve(rate=5) as site:
        first, second = await site.key(), await site.key()
        async with site.client(first) as client, site.client(second) as other:
            answers = [await client.get("/v1/lanes") for _ in range(20)]
            assert {one.status_code for one in answers} == {200, 429}
            refused = next(one for one in answers if one.status_code == 429)
            assert int(refused.headers["retry-after"]) >= 1
            assert refused.json()["retryable"] is True
            assert (await other.get("/v1/lanes")).status_code == 200


async def test_waiting_calls_are_limited(serve: Serve) -> None:
    """One too many gets 429, and only waiting ones count."""
    async with serve(most_waits=1) as site, site.client() as client:
        claim = {"lanes": ["default"], "wait_ms": 20_000}
        waiting = asyncio.ensure_future(client.post("/v1/workers/w/claim", json=claim))

        async def is_waiting() -> bool:
            return site.server._services.waits.total == 1

        await wait_for(is_waiting)
        refused = await client.post("/v1/workers/v/claim", json={**claim, "wait_ms": 1})
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        now = await client.post("/v1/workers/v/claim", json={"lanes": ["default"]})
        assert now.status_code == 200
        await site.engine.submit("k")
        assert len((await waiting).json()["claims"]) == 1


async def test_pages_may_call_only_from_named_origins(serve: Serve) -> None:
    """Closed by default; a named origin gets the headers that browsers ask for."""
    async with serve(cors=("https://app.example",)) as site:
        secret = await site.key()
        async with site.client(secret) as client:
            named = {"Origin": "https://app.example"}
            preflight = await client.options("/v1/executions", headers=named)
            assert preflight.status_code == 204
            assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
            answer = await client.get("/v1/lanes", headers=named)
            assert answer.headers["access-control-allow-origin"] == "https://app.example"
            other = await client.get("/v1/lanes", headers={"Origin": "https://evil.example"})
            assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104
async def test_a_public_address_needs_a_key(
    engine: Engine, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before anything listens; the message says what to do."""
    monkeypatch.delenv(run.ADMIN_KEY_VARIABLE, raising=False)
    with pytest.raises(StoreIncompatible, match="holdfast keys create --role admin"):
        async with run.serving(engine, ServerSettings(host=host, port=0)):
            pass


async def test_the_environment_brings_the_first_key(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then a public address is served, and only with the key."""
    secret = "bootstrap-" + "s" * 40
    monkeypatch.setenv(run.ADMIN_KEY_VARIABLE, secret)
    settings = ServerSettings(host="0.0.0.0", port=0)  # noqa: S104 - for a moment
    async with run.serving(engine, settings) as (server, url):
        site = Site(server, engine, url.replace("0.0.0.0", "127.0.0.1"))  # noqa: S104
        async with site.client(secret) as client, site.client() as nobody:
            assert (await client.get("/v1/keys")).status_code == 200
            assert (await nobody.get("/v1/keys")).status_code == 401


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:8080", ("localhost", 8080)),
    ],
)
def test_listen_is_host_and_port(text: str, parsed: tuple[str, int]) -> None:
    """Brackets around IPv6."""
    assert parse_listen(text) == parsed


@pytest.mark.parametrize("text", ["", "80", ":80", "host", "host:http", "host:70000"])
def test_anything_else_is_refused(text: str) -> None:
    """With the form that it must have."""
    with pytest.raises(InvalidInput, match="HOST:PORT"):
        parse_listen(text)


@pytest.mark.parametrize(
    ("trusted", "address"),
    [((), "127.0.0.1"), (("127.0.0.0/8",), "192.0.2.1"), (("192.0.2.7",), "127.0.0.1")],
)
async def test_only_a_trusted_proxy_tells_who_calls(
    serve: Serve, trusted: tuple[str, ...], address: str
) -> None:
    """Anybody can write a header."""
    async with serve(trusted_proxies=trusted) as site, site.client(await site.key()) as client:
        headers = {"X-Forwarded-For": "198.51.100.9, 192.0.2.1"}
        await client.post("/v1/executions", json={"kind": "k"}, headers=headers)
        (entry,) = (await client.get("/v1/audit")).json()["items"]
    assert entry["address"] == address


@pytest.mark.parametrize("proxy", ["", "*", "proxy.internal", "10.0.0.1/8", "10.0.0.0/40"])
def test_a_trusted_proxy_is_an_address_or_a_network(proxy: str) -> None:
    """A name that cannot be compared would never be trusted, without a word."""
    with pytest.raises(InvalidInput, match="trusted-proxy"):
        ServerSettings(trusted_proxies=(proxy,))
    with pytest.raises(InvalidInput, match="trusted-peer"):
        ServerSettings(trusted_peers=(proxy,))


@pytest.mark.parametrize(
    ("address", "is_trusted"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("fd00::7", True),
        ("11.1.2.3", False),
        ("fd00::8", False),
        ("", False),
        ("localhost", False),
    ],
)
def test_a_trusted_peer_is_known_by_its_address(address: str, is_trusted: bool) -> None:
    settings = ServerSettings(trusted_peers=("10.0.0.0/8", "fd00::7"))
    assert settings.trusts(address) is is_trusted
    assert not ServerSettings().trusts(address)
