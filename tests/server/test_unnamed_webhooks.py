"""Webhooks that name no endpoint: of trusted peers, for the one endpoint that verifies them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from holdfast.engine import identifying
from holdfast.model.endpoints import NewEndpoint
from tests.server.conftest import OURS, THEIRS, Serve, Site
from tests.support.channels import SECRETS, SETTINGS, Sent, message, whatsapp

LOOPBACK = ("127.0.0.1",)


async def put(site: Site, name: str, provider: str, tenant: str = OURS, **changes: Any) -> None:
    """Make an endpoint for the conversation `bot`."""
    await site.engine.tasks.publish({"bot": {"conversation": {"busy": "queue"}}}, tenant=tenant)
    settings = {**SETTINGS.get(provider, {}), **changes.pop("settings", {})}
    if provider == "whatsapp":
        settings["typing"] = False
    new = NewEndpoint(
        id=name,
        tenant=tenant,
        provider=provider,
        conversation="bot",
        settings=settings,
        secrets=changes.pop("secrets", SECRETS[provider]),
    )
    await site.engine.endpoints.put(new)


async def send(
    client: httpx.AsyncClient,
    sent: Sent,
    secrets: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> httpx.Response:
    """Send a webhook to the address of all endpoints, with further headers."""
    signed = {**sent.request(secrets).headers, **(headers or {})}
    return await client.post("/ingress/local", content=sent.body, headers=signed)


async def taken(site: Site) -> list[tuple[str, str]]:
    """Return the tenant and the endpoint of each session."""
    items = (await site.engine.sessions.list(limit=100)).items
    return sorted((one.key.tenant, one.key.endpoint) for one in items)


@pytest.mark.parametrize("trusted", [(), ("192.0.2.1", "10.0.0.0/8")])
async def test_others_than_trusted_peers_are_not_heard(
    serve: Serve, trusted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A genuine webhook gets the answer of a forged one, and no endpoint is asked about it."""
    async with serve(trusted_peers=trusted) as site, site.client() as client:
        await put(site, "inbox", "telegram")

        async def find(*_: object) -> None:
            raise AssertionError("an endpoint was asked")

        monkeypatch.setattr(identifying.Identifying, "find", find)
        claims = {
            "x-forwarded-for": "192.0.2.1",
            "x-real-ip": "10.0.0.1",
            "forwarded": "for=10.0.0.1",
        }
        genuine = await send(client, message("telegram"), headers=claims)
        forged = await client.post("/ingress/local/inbox", content=b"{}")
        assert genuine.status_code == forged.status_code == 401
        assert {**genuine.json(), "request": ""} == {**forged.json(), "request": ""}
        assert await taken(site) == []


async def test_a_proxy_says_who_is_behind_it(serve: Serve) -> None:
    """That the proxy itself has the address of a trusted peer does not count."""
    async with (
        serve(trusted_peers=("127.0.0.0/8",), trusted_proxies=LOOPBACK) as site,
        site.client() as client,
    ):
        await put(site, "inbox", "telegram")
        outside = await send(
            client, message("telegram"), headers={"x-forwarded-for": "198.51.100.9"}
        )
        assert outside.status_code == 401
        inside = await send(client, message("telegram"), headers={"x-forwarded-for": "127.0.0.9"})
        assert inside.status_code == 200


async def test_the_secret_says_whose_a_webhook_is(serve: Serve) -> None:
    """Whatever the call says of tenants and endpoints; without a secret nothing enters."""
    other = {"secret_token": "other-secret", "bot_token": "1:b"}
    async with serve(trusted_peers=LOOPBACK) as site, site.client() as client:
        await put(site, "ours", "telegram")
        await put(site, "theirs", "telegram", THEIRS, secrets=other)
        await put(site, "talk", "slack")
        forged = await send(client, message("telegram"), {**other, "secret_token": "guessed"})
        assert forged.status_code == 401
        assert await taken(site) == []
        says = {"x-tenant": OURS, "x-endpoint": "ours"}
        assert (await send(client, message("telegram"), other, says)).status_code == 200
        assert await taken(site) == [(THEIRS, "theirs")]
        assert (await send(client, message("telegram"))).status_code == 200
        assert await taken(site) == [(OURS, "ours"), (THEIRS, "theirs")]
        nowhere = await client.post("/ingress/no%20env", content=b"{}")
        assert nowhere.status_code == 401


async def test_nothing_is_guessed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two endpoints that a webhook may be for are too many, and so is a long list of them."""
    async with serve(trusted_peers=LOOPBACK) as site, site.client() as client:
        await put(site, "one", "telegram")
        await put(site, "two", "telegram", THEIRS)
        response = await send(client, message("telegram"))
        assert (response.status_code, response.json()["code"]) == (409, "ambiguous_identity")
        monkeypatch.setattr(identifying, "MOST_ENDPOINTS", 1)
        response = await send(client, message("telegram"))
        assert (response.status_code, response.json()["limit"]) == (409, 1)
        assert await taken(site) == []


async def test_numbers_of_one_app_share_its_secret(serve: Serve) -> None:
    """WhatsApp calls one address for all of them, and says which number a message is for."""
    async with serve(trusted_peers=LOOPBACK) as site, site.client() as client:
        for name, phone in (("first", "1"), ("second", "2")):
            await put(site, name, "whatsapp", settings={"phone_number_id": phone})
        sent = {"from": "49170", "id": "wamid.1", "type": "text", "text": {"body": "hi"}}
        assert (await send(client, whatsapp("2", messages=[sent]))).status_code == 200
        assert await taken(site) == [(OURS, "second")]
        unknown = await send(client, whatsapp("3", messages=[{**sent, "id": "wamid.2"}]))
        assert unknown.json()["code"] == "ambiguous_identity"
        malformed = await send(client, Sent("whatsapp", b"{"))
        assert malformed.status_code == 400
        assert await taken(site) == [(OURS, "second")]


async def test_an_endpoint_that_cannot_answer_ends_the_call(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could be the second one that is meant."""
    async with serve(trusted_peers=LOOPBACK) as site, site.client() as client:
        await put(site, "open", "telegram")
        monkeypatch.setenv("HOLDFAST_SECRET_KEYS", f"k1:{'ab' * 16}")
        site.engine.secrets._known = None
        await put(site, "sealed", "telegram", secrets={"secret_token": "x", "bot_token": "y"})
        monkeypatch.setenv("HOLDFAST_SECRET_KEYS", f"k2:{'cd' * 16}")
        site.engine.secrets._known = None
        response = await send(client, message("telegram"))
        assert (response.status_code, response.json()["code"]) == (503, "not_deliverable")
        assert await taken(site) == []
