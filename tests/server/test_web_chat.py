"""The web chat over HTTP: whose session a visitor reaches, and what stays hidden."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from holdfast.engine import Engine
from holdfast.model.deployments import DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.revisions import Gate
from holdfast.server.chat.doors import EVERY, Door
from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, Serve, Site
from tests.server.test_live_events import tail, take
from tests.support.conversing import NAME, Conversing, publish, turns

CHAT = f"/chat/local/{NAME}"
EVERYTHING = (Door(env="local", name=EVERY),)


@pytest.fixture
async def bot(engine: Engine) -> AsyncIterator[Conversing]:
    """A worker that runs turns by hand."""
    await publish(engine)
    async with turns(engine) as conversing:
        yield conversing


@pytest.fixture
async def site(serve: Serve) -> AsyncIterator[Site]:
    """A server whose web chats are open."""
    async with serve(web_chats=EVERYTHING, web_chat_rate=1_000) as site:
        yield site


@contextlib.asynccontextmanager
async def visiting(site: Site, chat: str = CHAT) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that has opened the chat."""
    async with site.client() as client:
        response = await client.post(f"{chat}/session")
        assert response.status_code == httpx.codes.OK, response.text
        yield client


async def say(client: httpx.AsyncClient, text: str, id: str = "m1", chat: str = CHAT) -> None:
    response = await client.post(f"{chat}/messages", json={"id": id, "text": text})
    assert response.status_code == httpx.codes.OK, response.text


async def texts(client: httpx.AsyncClient, chat: str = CHAT) -> list[str]:
    lines = (await client.post(f"{chat}/session")).json()["lines"]
    return [line["payload"]["text"] for line in lines]


async def test_each_visitor_reaches_only_their_own_session(site: Site, bot: Conversing) -> None:
    """Two browsers that say the same get a session each."""
    async with visiting(site) as ann, visiting(site) as ben:
        await say(ann, "I am Ann")
        await bot.answer("Hello Ann")
        await say(ben, "I am Ben")
        await bot.answer("Hello Ben")
        assert await texts(ann) == ["I am Ann", "Hello Ann"]
        assert await texts(ben) == ["I am Ben", "Hello Ben"]


@pytest.mark.parametrize("change", ["cut", "body", "signature", "other door"])
async def test_a_cookie_that_was_changed_opens_nothing(
    site: Site, bot: Conversing, change: str
) -> None:
    """It is as if there were none."""
    async with visiting(site) as ann, visiting(site, "/chat/local/other") as other:
        await say(ann, "secret")
        ((name, value),) = ann.cookies.items()
        version, kid, body, signature = value.split(".")
        (theirs,) = other.cookies.values()
        value = {
            "cut": f"{version}.{kid}.{body}",
            "body": f"{version}.{kid}.{body[:-4]}AAAA.{signature}",
            "signature": f"{version}.{kid}.{body}.{'A' * 43}",
            "other door": theirs,
        }[change]
    async with site.client() as thief:
        headers = {"Cookie": f"{name}={value}"}
        lines = await thief.get(f"{CHAT}/lines", params={"before": 9}, headers=headers)
        assert (lines.status_code, lines.json()["code"]) == (401, "invalid_token")
        begun = await thief.post(f"{CHAT}/session", headers=headers)
        assert begun.json()["lines"] == []


async def test_a_message_that_is_sent_again_is_delivered_once(site: Site, bot: Conversing) -> None:
    """The page repeats what it is not sure about."""
    async with visiting(site) as ann:
        for _ in range(3):
            await say(ann, "hello", id="same")
        await bot.answer("Hi.")
        await say(ann, "hello", id="same")
        assert await texts(ann) == ["hello", "Hi."]


async def test_a_visitor_says_no_more_than_the_page_offers(site: Site, bot: Conversing) -> None:
    """No flow, no revision, no tenant, no user; and nothing that is too large."""
    async with visiting(site) as ann:
        for field in ("flow", "revision", "tenant", "user", "action", "payload"):
            body = {"id": "m", "text": "hello", field: "x"}
            response = await ann.post(f"{CHAT}/messages", json=body)
            assert response.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        empty = await ann.post(f"{CHAT}/messages", json={"id": "m"})
        assert empty.json()["field"] == "text"
        large = await ann.post(f"{CHAT}/messages", json={"id": "m", "text": "x" * 200_000})
        assert large.json()["code"] == "too_large"


async def test_live_events_show_lines_and_the_person_who_answers(
    site: Site, engine: Engine, bot: Conversing
) -> None:
    """Notes, executions and reasons are for operators."""
    async with visiting(site) as ann:
        await say(ann, "hello")
        await bot.answer("Hi.")
        session = (await engine.sessions.list()).items[0].id
        await engine.sessions.handover(session, "Cid", reason="a refund")
        await engine.sessions.say(session, b'{"text":"This is Cid."}', author="Cid")
        async with tail(ann, f"{CHAT}/events") as events:
            found = await take(events, 4)
    assert [name for _, name, _ in found] == ["line", "line", "line", "standing"]
    assert found[2][2]["author"] == "Cid"
    assert found[3][2] == {"state": "person", "person": "Cid"}
    shown = json.dumps([data for _, _, data in found])
    assert "refund" not in shown
    assert session not in shown


async def test_starting_over_ends_the_conversation(
    site: Site, engine: Engine, bot: Conversing
) -> None:
    """The next message starts another, in a session of its own; the old one stays for operators."""
    async with visiting(site) as ann:
        await say(ann, "hello")
        await bot.answer("Which order?")
        again = (await ann.post(f"{CHAT}/restart")).json()
        assert (again["lines"], again["conversation"]) == ([], 2)
        await say(ann, "hello", id="m2")
        await bot.answer("Hi again.")
        assert await texts(ann) == ["hello", "Hi again."]
    sessions = (await engine.sessions.list()).items
    assert {session.state for session in sessions} == {"idle", "waiting"}


async def test_earlier_lines_come_in_pages(site: Site, bot: Conversing) -> None:
    """The newest first, then those before, without a gap."""
    async with visiting(site) as ann:
        for number in range(40):
            await say(ann, f"message {number}", id=f"m{number}")
            await bot.answer(f"reply {number}")
        first = (await ann.post(f"{CHAT}/session")).json()
        assert (len(first["lines"]), first["more"]) == (50, True)
        before = first["lines"][0]["number"]
        rest = (await ann.get(f"{CHAT}/lines", params={"before": before})).json()
        assert not rest["more"]
        numbers = [line["number"] for line in (*rest["items"], *first["lines"])]
        assert numbers == list(range(1, 81))


async def test_nothing_is_open_by_itself(serve: Serve, bot: Conversing) -> None:
    """A server opens what it is asked to, and other tenants have other doors."""
    door = Door(env="local", name=NAME, tenant=OURS)
    async with serve() as closed, closed.client() as client:
        assert (await client.get(CHAT)).json()["code"] == "web_chat_not_found"
    async with serve(web_chats=(door,)) as site:
        async with visiting(site) as ann:
            await say(ann, "hello")
            (session,) = (await site.engine.sessions.list()).items
            assert session.key.tenant == OURS
        async with site.client() as client:
            assert (await client.get("/chat/local/other")).status_code == httpx.codes.NOT_FOUND
            assert (await client.get("/chat/local/*")).status_code == httpx.codes.NOT_FOUND


async def test_who_may_frame_it_is_a_setting(serve: Serve) -> None:
    """A chat that pages of others show needs a cookie that browsers send from there."""
    async with serve(web_chats=EVERYTHING) as site, site.client() as client:
        page = await client.get(CHAT)
        assert page.headers["content-security-policy"].endswith("frame-ancestors 'self'")
        assert "unsafe" not in page.headers["content-security-policy"]
        cookie = (await client.post(f"{CHAT}/session")).headers["set-cookie"]
        assert cookie.endswith("HttpOnly; SameSite=Strict")
        assert "path" not in cookie.lower()
    origins = ("https://www.example.org",)
    framed = serve(web_chats=EVERYTHING, web_chat_origins=origins)
    async with framed as site, site.client() as client:
        page = await client.get(CHAT)
        policy = page.headers["content-security-policy"]
        assert policy.endswith("frame-ancestors 'self' https://www.example.org")
        cookie = (await client.post(f"{CHAT}/session")).headers["set-cookie"]
        assert cookie.endswith("HttpOnly; SameSite=None; Secure; Partitioned")


async def test_a_cookie_outlives_a_rotation_of_keys(
    site: Site, bot: Conversing, clock: Clock
) -> None:
    """For as long as the grace of the old key lasts; a visit signs the cookie again."""
    async with visiting(site) as ann:
        await say(ann, "hello")
        # The clock of the store is that of the test; cookies are judged by the server's.
        behind_ms = max(0, time.time_ns() // 1_000_000 - clock.now_ms)
        await site.engine.keyring.rotate(grace_ms=behind_ms + 86_400_000)
        assert await texts(ann) == ["hello"]
        # A key that leaked is rotated without grace, which ends every visit.
        await site.engine.keyring.rotate(grace_ms=0)
        assert await texts(ann) == []


async def test_messages_are_in_the_audit_log(site: Site, bot: Conversing) -> None:
    """As those of a visitor, of the tenant behind the door."""
    async with visiting(site) as ann:
        await say(ann, "hello")
    entries, _ = await site.engine.audit.list(tenant="default")
    assert [(entry.key, entry.route) for entry in entries] == [
        ("visitor", "/chat/{env}/{name}/messages")
    ]


async def ready(engine: Engine, ref: DeploymentRef, revision: str) -> None:
    """Stage a revision and make it ready."""
    await engine.deployments.stage(ref, revision_id=revision)
    warming = await engine.deployments.warm(ref, revision)
    gates = [Gate(name="loads", passed=True)]
    await engine.deployments.judge(ref, revision, gates, seen=warming.version)


async def test_a_browser_stays_on_its_revision(site: Site, engine: Engine, bot: Conversing) -> None:
    """A cookie says so, and no pin is stored: a stranger must not fill the store with pins."""
    ref = DeploymentRef(env="local", id="shop", tenant="default")
    await engine.deployments.create(
        NewDeployment(env="local", id="shop", tenant="default", app=NAME)
    )
    for revision in ("r1", "r2"):
        await ready(engine, ref, revision)
    halves = [SplitEntry(revision="r1", weight_bps=10_000), SplitEntry(revision="r2", weight_bps=0)]
    await engine.deployments.set_split(ref, halves, expected_generation=0)
    chat = "/chat/local/shop"
    async with visiting(site, chat) as ann, visiting(site, chat) as ben:
        await say(ann, "hello", chat=chat)
        # New sessions go to r2 from now on, except those of browsers that r1 has answered.
        shifted = [
            SplitEntry(revision="r1", weight_bps=1),
            SplitEntry(revision="r2", weight_bps=9_999),
        ]
        await engine.deployments.set_split(ref, shifted, expected_generation=1)
        await ann.post(f"{chat}/restart")
        await say(ann, "hello", id="m2", chat=chat)
        await say(ben, "hello", chat=chat)
    sessions = (await engine.sessions.list()).items
    revisions = sorted((session.key.conversation, session.revision) for session in sessions)
    assert revisions == [("web-1", "r1"), ("web-1", "r2"), ("web-2", "r1")]


async def test_files_are_kept_by_digest(site: Site) -> None:
    """An address with the digest never changes its content; without, it is read again soon."""
    async with site.client() as client:
        page = await client.get(CHAT)
        address = page.text.split('src="../..')[1].split('"')[0]
        script = await client.get(address)
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert "immutable" in script.headers["cache-control"]
        assert script.headers["content-encoding"] == "gzip"
        plain = await client.get("/static/chat.js", headers={"Accept-Encoding": "identity"})
        assert plain.content == script.content
        assert "immutable" not in plain.headers["cache-control"]
        embed = await client.get("/chat/embed.js")
        assert embed.headers["content-type"] == "text/javascript; charset=utf-8"
