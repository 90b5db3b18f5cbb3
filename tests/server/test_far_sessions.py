"""Sessions through the client: what the engine does, over HTTP; and workers far from the store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from holdfast import App, Chat
from holdfast.client import Client, sessions
from holdfast.client.sse import Sse, follow
from holdfast.engine import Engine
from holdfast.errors import ConversationNotFound, NotOverHttp, ReplyNotFound, SessionNotFound
from holdfast.model.executions import Lease
from holdfast.model.sessions import MessageWait, NewReply, StateValue, Transcript, ValueChange
from holdfast.operate.live_session import ReplyPart, watch
from holdfast.worker.worker import Worker, WorkerSettings
from tests.server.conftest import OURS, Site
from tests.support.conversing import NAME, message, publish


@pytest.fixture(params=["default", OURS])
async def far(request: pytest.FixtureRequest, site: Site) -> AsyncIterator[Client]:
    """A client without a key, and one of a tenant."""
    secret = None if request.param == "default" else await site.key(tenant=OURS)
    async with Client(site.url, key=secret) as client:
        yield client


async def test_sessions(far: Client, engine: Engine) -> None:
    """Every operation, with the values that the engine returns."""
    await publish(engine)
    sessions = far.sessions
    with pytest.raises(ConversationNotFound):
        await sessions.deliver("nothing", message("hello"))
    sent = message("hello")
    delivered = await sessions.deliver(NAME, sent)
    assert (delivered.number, delivered.effect, delivered.duplicate) == (1, "started", False)
    assert await sessions.deliver(NAME, sent) == replace(delivered, duplicate=True)
    async with far.claimer(worker="w", kinds=(NAME,)) as claimer:
        (claim,) = await claimer.claim(1, 30_000)
        assert claim.session is not None
        assert (claim.session.id, claim.session.key.user) == (delivered.session, "ann")
        assert (claim.session.turn, claim.continued, claim.kept) == (1, 0, False)
        replies = [NewReply(step=f"say:{n}", payload=b'{"text": "1.50"}') for n in (1, 2)]
        turned = await sessions.turn(claim.id, claim.lease, replies)
        assert (turned.numbers, turned.received, turned.suspended) == ((2, 3), None, False)
        assert await sessions.turn(claim.id, claim.lease, replies) == turned
        await _state(far, claim.id, claim.lease)
        await far.executions.continue_as(claim.id, claim.lease, b'{"state": 1.50}', continued=0)
        wait = MessageWait(step="receive:1", timeout_ms=60_000, kept=True)
        waits = await sessions.turn(claim.id, claim.lease, (), wait)
        assert (waits.suspended, waits.received) == (True, None)
        answer = await sessions.send(NAME, message("more"), wait_ms=0)
        assert (answer.done, answer.replies, answer.state) == (False, (), "waiting")
        (claim,) = await claimer.claim(1, 30_000)
        assert (claim.continued, claim.kept, claim.input) == (1, True, b'{"state": 1.50}')
        assert b'"more"' in claim.steps["receive:1"]
        await far.complete(claim.id, claim.lease)
    session_id = delivered.session
    assert await sessions.get(session_id) == await engine.sessions.get(session_id)
    assert (await sessions.list(user="ann")).items == (await engine.sessions.list()).items
    latest = await engine.sessions.latest(session_id, limit=1)
    assert await sessions.latest(session_id, limit=1) == latest
    near = await engine.sessions.transcript(session_id)
    assert await sessions.transcript(session_id) == near
    assert (await sessions.transcript(session_id, after=1, limit=1)).more
    entry = await sessions.say(session_id, b'{"text": "I am Bea."}', author="bea", key="k")
    assert await sessions.say(session_id, b'{"text": "other"}', author="bea", key="k") == entry
    taken = await sessions.handover(session_id, "bea", reason="a refund")
    assert (taken.person, taken.handover_reason) == ("bea", "a refund")
    with pytest.raises(ReplyNotFound):
        await sessions.resend(session_id, 2)
    assert await sessions.state(session_id) == await engine.sessions.state(session_id)
    assert (await sessions.end(session_id)).execution is None
    with pytest.raises(NotOverHttp):
        sessions.sending({})
    await sessions.erase(session_id)
    with pytest.raises(SessionNotFound):
        await sessions.get(session_id)


async def _state(far: Client, execution_id: str, lease: Lease) -> None:
    """Read, set, compare and remove; each call once per step."""
    sessions = far.sessions

    async def change(step: str, name: str, value: bytes | None, **fields: int) -> StateValue:
        changes = ValueChange(name=name, value=value, **fields)
        return await sessions.set_state(execution_id, lease, step, changes)

    nothing = await sessions.get_state(execution_id, lease, "state:1", "n")
    assert (nothing.value, nothing.version) == (None, 0)
    first = await change("state:2", "n", b"1.50")
    assert (first.value, first.version, first.changed) == (b"1.50", 1, True)
    again = await change("state:2", "n", b"9")
    assert again == first
    stale = await change("state:3", "n", b"2", expected=7)
    assert (stale.value, stale.changed) == (b"1.50", False)
    null = await change("state:4", "z", b"null")
    assert null.value == b"null"
    gone = await change("state:5", "z", None)
    assert (gone.value, gone.changed) == (None, True)


async def test_a_session_is_followed_over_http(far: Client, engine: Engine) -> None:
    """Each line once, in order, and the states between; erased, its followers learn it."""
    await publish(engine)
    delivered = await far.sessions.deliver(NAME, message("one"))
    lines = far.sessions.follow(delivered.session)
    came: list[Transcript] = [await anext(lines), await anext(lines)]
    assert [entry.text for found in came for entry in found.entries] == ["one"]
    await engine.sessions.say(delivered.session, b'{"text": "two"}')
    found = await anext(lines)
    assert ([entry.text for entry in found.entries], found.session.last) == (["two"], 2)
    await far.sessions.erase(delivered.session)
    with pytest.raises(SessionNotFound):
        await anext(lines)


async def test_a_follower_that_ends_gives_its_connection_back(
    far: Client, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and not when the event loop comes to it."""
    closed = []

    async def noted(*where: Any, **query: Any) -> AsyncIterator[Sse]:
        try:
            async for event in follow(*where, **query):
                yield event
        finally:
            closed.append(True)

    monkeypatch.setattr(sessions, "follow", noted)
    await publish(engine)
    delivered = await far.sessions.deliver(NAME, message("one"))
    async with contextlib.aclosing(far.sessions.follow(delivered.session)) as lines:  # type: ignore[type-var]
        await anext(lines)
        assert not closed
    assert closed


@contextlib.asynccontextmanager
async def _working(app: App) -> AsyncIterator[None]:
    worker = Worker(app, WorkerSettings(lease_ms=30_000))
    running = asyncio.ensure_future(worker.run())
    await worker.wait_started(running)
    try:
        yield
    finally:
        worker.release()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_conversation_runs_far_from_the_store(far: Client) -> None:
    """It asks, keeps state, streams and starts again; a far reader sees the parts of a reply."""
    app = App().attach(far)

    @app.conversation(name=NAME)
    async def bot(chat: Chat, state: int = 0) -> None:
        if not state:
            order = await chat.ask("Which order?", type=int)
            await chat.state.set("order", order.value)
            await chat.continue_as(1)
        message = await chat.receive()
        async with chat.typing() as out:
            await out.write(f"{message.text}: ")
            await out.write(str(await chat.state.get("order")))

    async with _working(app):
        texts: list[str] = []
        parts: list[str] = []

        async def follow() -> None:
            async for found in watch(far, session_id):
                if isinstance(found, ReplyPart):
                    parts.append(found.text)
                else:
                    texts.extend(entry.text for entry in found.entries)
                    if "status: 17" in texts:
                        return

        first = await bot.send("hi", user="ann")
        session_id = first.session
        following = asyncio.ensure_future(follow())
        assert [entry.text for entry in first.replies] == ["Which order?"]
        await bot.send("17", user="ann")
        last = await bot.send("status", user="ann")
        assert [entry.text for entry in last.replies] == ["status: 17"]
        async with asyncio.timeout(10):
            await following
        assert texts == ["hi", "Which order?", "17", "status", "status: 17"]
        assert "status: 17".startswith("".join(parts))
