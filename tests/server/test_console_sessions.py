"""Sessions of the console: a cookie instead of a key, and only for pages of this server."""

from __future__ import annotations

import re

import httpx
import pytest

from holdfast.client.client import Client
from holdfast.model.api_keys import Role, id_of
from holdfast.server.auth.console_sessions import TTL_S
from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, Serve, Site

HEADERS = {"X-Holdfast-Console": "1"}


async def log_in(client: httpx.AsyncClient, secret: str) -> httpx.Response:
    """Log in, and keep the cookie as a browser does."""
    response = await client.post("/console/login", json={"key": secret}, headers=HEADERS)
    assert response.status_code == 200, response.text
    return response


async def test_a_session_acts_with_the_roles_of_its_key(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """It may do what the key may, in the key's tenant, and is audited under the key."""
    secret = await site.key(Role.SUBMITTER)
    response = await log_in(anyone, secret)
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Secure" not in cookie
    assert secret not in cookie
    me = (await anyone.get("/v1/me")).json()
    assert me == response.json()
    assert (me["key"], me["tenant"], me["roles"]) == (id_of(secret), OURS, ["submitter"])
    assert (me["operator"], me["access"], me["tenants"]) == (False, "keyed", [OURS])
    assert me["session_expires_at"]
    made = await anyone.post("/v1/executions", json={"kind": "k"}, headers=HEADERS)
    assert made.status_code == 201
    refused = await anyone.post("/v1/executions/x/cancel", json={}, headers=HEADERS)
    assert refused.status_code == 403
    entries, _ = await site.engine.audit.list(key=id_of(secret))
    routes = {entry.route for entry in entries}
    assert {"/console/login", "/v1/executions"} <= routes


async def test_a_viewer_changes_nothing(site: Site, anyone: httpx.AsyncClient) -> None:
    """A session of a viewer is refused wherever the contract says that something changes."""
    await log_in(anyone, await site.key(Role.VIEWER))
    contract = (await anyone.get("/openapi.json")).json()
    # Others only read, or are answered to whoever has a token.
    writes = [
        (method, re.sub(r"\{\w+\}", "x", path))
        for path, methods in contract["paths"].items()
        for method, route in methods.items()
        if method != "get" and re.search(r"\bRoles?: ", route.get("description", ""))
    ]
    assert len(writes) > 100
    answers = {
        f"{method} {path}": (await anyone.request(method, path, json={}, headers=HEADERS))
        for method, path in writes
    }
    assert {name for name, answer in answers.items() if answer.status_code != 403} == set()


async def test_a_session_ends_with_its_key_and_after_twelve_hours(
    site: Site, anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """A revoked key ends its sessions; so does time, and logging out."""
    await site.key()
    first, second = await site.key(), await site.key()
    await log_in(anyone, first)
    await site.engine.api_keys.revoke(id_of(first))
    site.server._services.identities.forget(id_of(first))
    assert (await anyone.get("/v1/lanes")).status_code == 401
    await log_in(anyone, second)
    await clock.advance((TTL_S - 60) * 1000)
    site.server._services.identities.forget(id_of(second))
    assert (await anyone.get("/v1/lanes")).status_code == 200
    await clock.advance(61_000)
    site.server._services.identities.forget(id_of(second))
    assert (await anyone.get("/v1/lanes")).status_code == 401
    await log_in(anyone, second)
    assert (await anyone.get("/v1/lanes")).status_code == 200
    await anyone.post("/console/logout", headers=HEADERS)
    assert (await anyone.get("/v1/lanes")).status_code == 401


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {}),
        ("POST", {**HEADERS, "Sec-Fetch-Site": "same-site"}),
        ("POST", {**HEADERS, "Sec-Fetch-Site": "none"}),
        ("POST", {**HEADERS, "Origin": "https://evil.example"}),
        ("GET", {"Sec-Fetch-Site": "cross-site"}),
        ("GET", {"Origin": "https://evil.example"}),
    ],
)
async def test_pages_of_other_sites_get_nothing_from_a_session(
    site: Site, anyone: httpx.AsyncClient, method: str, headers: dict[str, str]
) -> None:
    """A cookie alone changes nothing, and reads only for pages of this server."""
    await log_in(anyone, await site.key())
    response = await anyone.request(method, "/v1/executions", headers=headers)
    assert response.status_code == 403
    own = {**HEADERS, "Sec-Fetch-Site": "same-origin"}
    assert (await anyone.get("/v1/executions", headers=own)).status_code == 200


async def test_a_forged_cookie_is_refused(site: Site, anyone: httpx.AsyncClient) -> None:
    """The signature covers the key and the tenant."""
    cookie = (await log_in(anyone, await site.key())).cookies["hf_console"]
    anyone.cookies.clear()
    version, kid, body, signature = cookie.split(".")
    for text in ("x", f"{version}.{kid}.{body[:-2]}AA.{signature}", f"{version}.{kid}.{body}."):
        response = await anyone.get("/v1/me", headers={"Cookie": f"hf_console={text}"})
        assert response.status_code == 401


async def test_an_operator_narrows_its_session_to_a_tenant(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """Then it sees only that tenant and nothing of the system, until it widens the session."""
    await site.engine.submit("k", tenant="acme")
    await site.engine.submit("k", tenant="other")
    await log_in(anyone, await site.key(tenant=None))
    assert (await anyone.get("/v1/me")).json()["tenants"] == ["acme", "default", "other"]
    narrowed = await anyone.post("/console/tenant", json={"tenant": "acme"}, headers=HEADERS)
    assert narrowed.json()["tenant"] == "acme"
    assert narrowed.json()["tenants"] == ["acme", "default", "other"]
    listed = (await anyone.get("/v1/executions", params={"tenant": "*"})).json()["items"]
    assert [item["tenant"] for item in listed] == ["acme"]
    assert (await anyone.get("/v1/pulse")).status_code == 403
    other = await anyone.get("/v1/executions", params={"tenant": "other"})
    assert other.status_code == 403
    widened = await anyone.post("/console/tenant", json={}, headers=HEADERS)
    assert widened.json()["operator"] is True
    assert (await anyone.get("/v1/pulse")).status_code == 200


async def test_choosing_a_tenant_does_not_extend_a_session(
    site: Site, anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """It ends 12 hours after the login; only the key begins another one."""
    await log_in(anyone, await site.key(tenant=None))
    ends_at = (await anyone.get("/v1/me")).json()["session_expires_at"]
    await clock.advance(3_600_000)
    site.server._services.identities._remembered.clear()  # the time of the store is kept with keys
    narrowed = await anyone.post("/console/tenant", json={"tenant": "acme"}, headers=HEADERS)
    assert narrowed.json()["session_expires_at"] == ends_at
    assert (await anyone.get("/v1/me")).json()["session_expires_at"] == ends_at


async def test_an_open_server_needs_no_login_and_says_so(
    serve: Serve, site: Site, anyone: httpx.AsyncClient
) -> None:
    """The banner goes when there is a key. A server for development says that it is one."""
    me = (await anyone.get("/v1/me")).json()
    assert (me["key"], me["operator"], me["access"], me["dev"]) == (None, True, "open", False)
    assert "no API keys" in me["banner"]
    assert me["session_expires_at"] is None
    async with serve(dev=True) as dev, dev.client() as client:
        assert (await client.get("/v1/me")).json()["dev"] is True
    await anyone.post("/v1/keys", json={"roles": ["admin"]})
    assert (await anyone.get("/v1/me")).status_code == 401


async def test_near_and_far_say_the_same_of_the_caller(site: Site) -> None:
    """A program on the store is the operator; over HTTP the key says who it is."""
    near = await site.engine.api_keys.me()
    assert (near.operator, near.tenants) == (True, ("default",))
    secret = await site.key(Role.VIEWER, name="a screen")
    async with Client(site.url, key=secret) as client:
        far = await client.api_keys.me()
    assert (far.key, far.name, far.tenant, far.roles) == (
        id_of(secret),
        "a screen",
        OURS,
        (Role.VIEWER,),
    )
    assert far.version == near.version
