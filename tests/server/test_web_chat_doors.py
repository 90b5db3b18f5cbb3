"""Doors of web chats: what an option of the server opens, and what an endpoint opens."""

from __future__ import annotations

import httpx
import pytest

from holdfast.engine import Engine
from holdfast.engine.opened_endpoints import OpenedEndpoints
from holdfast.errors import InvalidInput, WebChatNotFound
from holdfast.model.endpoints import EndpointRef, NewEndpoint
from holdfast.server.chat.doors import Door, Doors
from tests.server.conftest import Serve
from tests.server.test_every_route import assert_problem
from tests.server.test_web_chat import visiting
from tests.support.conversing import NAME, publish


async def test_a_door_leads_to_its_own_address_only(engine: Engine) -> None:
    """One for everything leads to every name of its env, in its tenant."""
    named = [Door.parse("prod/acme/shop"), Door.parse("local/*")]
    doors = Doors(named, OpenedEndpoints(engine.endpoints))
    assert (await doors.find("prod", "shop")).tenant == "acme"
    assert await doors.find("local", "anything") == Door(env="local", name="anything")
    for env, name in (("prod", "other"), ("staging", "shop"), ("local", "*"), ("prod", "*")):
        with pytest.raises(WebChatNotFound):
            await doors.find(env, name)


async def test_an_endpoint_opens_a_chat_without_an_option(serve: Serve, engine: Engine) -> None:
    """With its own origins, files and rate; the endpoint of another provider opens none."""
    await publish(engine)
    files = {"bytes": 1000, "types": ["text/*"]}
    settings = {"origins": ["https://shop.example"], "files": files}
    new = NewEndpoint(id="help", provider="webchat", conversation=NAME, settings=settings, rate=2)
    await engine.endpoints.put(new)
    hook = NewEndpoint(id="hook", provider="http", conversation=NAME, secrets={"token": "t" * 32})
    await engine.endpoints.put(hook)
    async with serve(web_chat_rate=1_000) as site:
        async with site.client() as stranger:
            page = await stranger.get("/chat/local/help")
            policy = page.headers["content-security-policy"]
            assert "frame-ancestors 'self' https://shop.example" in policy
            for name in ("hook", NAME, "nothing"):
                assert_problem(await stranger.get(f"/chat/local/{name}"), 404, "web_chat_not_found")
            forged = await stranger.post("/ingress/local/help", content=b"{}")
            assert_problem(forged, 401, "invalid_signature")
        async with site.client() as ann:
            # A cookie for frames is sent over HTTPS only, so it is passed on by hand.
            begun = await ann.post("/chat/local/help/session")
            ann.headers["Cookie"] = begun.headers["set-cookie"].partition(";")[0]
            assert "Partitioned" in begun.headers["set-cookie"]
            assert begun.json()["files"]["most_bytes"] == 1000
            message = {"id": "m1", "text": "hello"}
            sent = await ann.post("/chat/local/help/messages", json=message)
            assert sent.status_code == httpx.codes.OK, sent.text
            (session,) = (await engine.sessions.list()).items
            assert (session.key.endpoint, session.kind) == ("help", NAME)
            upload = "/chat/local/help/files"
            for _ in range(10):
                limited = await ann.post(upload, params={"name": "a.txt"}, content=b"text")
                if limited.is_error:
                    break
            assert_problem(limited, 429, "rate_limited")
        await engine.endpoints.delete(EndpointRef(id="help"))
        closed = Doors([], OpenedEndpoints(engine.endpoints))
        with pytest.raises(WebChatNotFound):
            await closed.find("local", "help")


async def test_an_endpoint_names_the_deployment(serve: Serve, engine: Engine) -> None:
    """A deployment that is missing is not replaced by a conversation of that name."""
    await publish(engine)
    new = NewEndpoint(id="help", provider="webchat", deployment=NAME)
    await engine.endpoints.put(new)
    async with serve(web_chat_rate=1_000) as site, visiting(site, "/chat/local/help") as ann:
        message = {"id": "m1", "text": "hello"}
        refused = await ann.post("/chat/local/help/messages", json=message)
        assert_problem(refused, 429, "web_chat_unavailable")


@pytest.mark.parametrize(
    "settings",
    [
        {"origins": ["shop.example"]},
        {"files": {"bytes": -1}},
        {"files": {"bytes": 1, "types": ["text/html"]}},
        {"x": 1},
    ],
)
async def test_its_settings_are_checked(engine: Engine, settings: dict[str, object]) -> None:
    """When it is put, and not when a visitor comes."""
    with pytest.raises(InvalidInput, match="settings"):
        await engine.endpoints.put(NewEndpoint(id="help", provider="webchat", settings=settings))
