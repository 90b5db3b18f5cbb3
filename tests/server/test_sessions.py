"""Conversations over HTTP: messages and replies, live sessions, and what operators do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from itertools import product
from typing import Any

import httpx
import msgspec
import pytest

from holdfast.engine import Engine
from holdfast.model.executions import Claim
from holdfast.model.frames import NewFrame
from holdfast.model.sessions import NewReply, ValueChange
from tests.server.conftest import OURS, THEIRS, Site
from tests.server.test_live_events import tail, take
from tests.support.conversing import NAME, Conversing, publish, turns

SEND = f"/v1/conversations/{NAME}/activities"


@pytest.fixture
async def bot(engine: Engine) -> AsyncIterator[Conversing]:
    """A worker that runs turns by hand."""
    await publish(engine)
    async with turns(engine) as conversing:
        yield conversing


def body(text: str, id: str = "m1", **more: Any) -> dict[str, Any]:
    """A message of ann."""
    activity = {"id": id, "conversation": "c1", "user": "ann", "payload": {"text": text}}
    return {"activity": activity, **more}


async def send(client: httpx.AsyncClient, *args: str, status: int = 200, **more: Any) -> Any:
    response = await client.post(SEND, json=body(*args, **more))
    assert response.status_code == status, response.text
    return response.json()


async def test_a_message_is_answered_with_the_replies_of_its_turn(
    anyone: httpx.AsyncClient, bot: Conversing
) -> None:
    """Each reply is an activity to the user, with an id of its own."""
    sending = asyncio.ensure_future(send(anyone, "hello"))
    await bot.answer("Hi.", "Which order?")
    answer = await sending
    assert [reply["text"] for reply in answer["replies"]] == ["Hi.", "Which order?"]
    first = answer["replies"][0]
    assert first["id"] == f"{answer['session']}:2"
    assert (first["conversation"], first["user"], first["endpoint"]) == ("c1", "ann", NAME)
    assert (first["kind"], first["payload"]) == ("message", {"text": "Hi."})
    assert answer["execution"] == f"{answer['session']}~1"
    assert (answer["state"], answer["revision"]) == ("suspended", None)


async def test_a_turn_that_runs_on_answers_with_202_and_the_replies_so_far(
    anyone: httpx.AsyncClient, engine: Engine, bot: Conversing
) -> None:
    """The same message again, later, gets all of them."""
    early = await send(anyone, "hello", wait_ms=0, status=202)
    assert (early["replies"], early["state"]) == ([], "waiting")
    claim: Claim = await bot.claim()  # type: ignore[operator]
    replies = [NewReply(step="say:1", payload=b'{"text":"One moment."}')]
    await engine.sessions.turn(claim.id, claim.lease, replies)
    midway = await send(anyone, "hello", wait_ms=10, status=202)
    assert [reply["text"] for reply in midway["replies"]] == ["One moment."]
    await engine.complete(claim.id, claim.lease)
    late = await send(anyone, "hello")
    assert (late["replies"], late["state"]) == (midway["replies"], "completed")
    assert late["execution"] == early["execution"]


async def test_a_repeated_message_is_delivered_once(
    anyone: httpx.AsyncClient, bot: Conversing
) -> None:
    """Whatever the words are, its id counts; `deliver` says that it was there before."""
    first = (await anyone.post(f"/v1/conversations/{NAME}/deliver", json=body("a"))).json()
    again = (await anyone.post(f"/v1/conversations/{NAME}/deliver", json=body("b"))).json()
    assert (first["effect"], first["number"], first["duplicate"]) == ("started", 1, False)
    assert again == {**first, "duplicate": True}
    await bot.answer("ok")
    shown = (await anyone.get(f"/v1/sessions/{first['session']}/transcript")).json()["items"]
    assert [(line["direction"], line["text"]) for line in shown] == [("in", "a"), ("out", "ok")]


async def test_a_rejecting_conversation_answers_known_messages_all_the_same(
    anyone: httpx.AsyncClient, engine: Engine
) -> None:
    """Only new ones are refused while a turn runs."""
    await publish(engine, busy="reject")
    await send(anyone, "a", wait_ms=0, status=202)
    refused = await send(anyone, "b", "m2", wait_ms=0, status=409)
    assert refused["code"] == "session_busy"
    await send(anyone, "a", wait_ms=0, status=202)


@pytest.mark.parametrize(
    "wrong",
    [
        {"payload": "text"},
        {"payload": None},
        {"user": ""},
        {"kind": "other"},
        {"text": "hello"},
    ],
)
async def test_activities_that_do_not_fit_are_refused(
    anyone: httpx.AsyncClient, engine: Engine, wrong: Mapping[str, Any]
) -> None:
    """A payload is an object; unknown fields are named."""
    await publish(engine)
    given = body("hello")
    given["activity"] |= wrong
    assert (await anyone.post(SEND, json=given)).status_code == 422


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        *product(("tenant", "env", "endpoint"), ("", "a b", "a\n", "x" * 2_000, 5)),
        *product(("conversation", "user"), ("", "a\n", "x" * 2_000, 5)),
    ],
)
async def test_an_invalid_identity_is_refused_and_not_replaced(
    anyone: httpx.AsyncClient, engine: Engine, part: str, wrong: Any
) -> None:
    """No default takes its place, so nobody gets into a session that others share."""
    await publish(engine)
    given = body("hello")
    (given if part in {"tenant", "env"} else given["activity"])[part] = wrong
    for call in ("activities", "deliver"):
        response = await anyone.post(f"/v1/conversations/{NAME}/{call}", json=given)
        assert response.status_code == 422, response.text
    assert list((await engine.sessions.list()).items) == []


async def test_the_state_of_a_session_is_in_no_answer_to_its_user(
    anyone: httpx.AsyncClient, engine: Engine, bot: Conversing
) -> None:
    """Answers have replies only; lists and the transcript do not show it either."""
    sending = asyncio.ensure_future(send(anyone, "hello"))
    claim: Claim = await bot.claim()  # type: ignore[operator]
    change = ValueChange(name="card", value=b'"secret card"')
    await engine.sessions.set_state(claim.id, claim.lease, "set:1", change)
    replies = [NewReply(step="say:1", payload=b'{"text":"Thank you."}')]
    await engine.sessions.turn(claim.id, claim.lease, replies)
    await engine.complete(claim.id, claim.lease, b'"secret card"')
    answer = await sending
    assert [reply["text"] for reply in answer["replies"]] == ["Thank you."]
    assert "secret card" not in str(answer)
    about = f"/v1/sessions/{answer['session']}"
    for path in ("/v1/sessions", about, f"{about}/transcript"):
        assert "secret card" not in (await anyone.get(path)).text
    assert "secret card" in (await anyone.get(f"{about}/state")).text


async def test_tenants_have_sessions_of_their_own(site: Site, engine: Engine) -> None:
    """The same user and conversation in another tenant is another session, seen by nobody else."""
    await publish(engine)
    found = {}
    for tenant in (OURS, THEIRS):
        async with site.client(await site.key("submitter", tenant=tenant)) as client:
            found[tenant] = (await send(client, "hello", wait_ms=0, status=202))["session"]
            listed = (await client.get("/v1/sessions")).json()["items"]
            assert [one["id"] for one in listed] == [found[tenant]]
            assert (listed[0]["tenant"], listed[0]["user"]) == (tenant, "ann")
            nobody = (await client.get("/v1/sessions", params={"user": "bob"})).json()
            assert nobody["items"] == []
    assert found[OURS] != found[THEIRS]
    async with site.client(await site.key(tenant=OURS)) as client:
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/end"), ("DELETE", "")):
            url = f"/v1/sessions/{found[THEIRS]}{path}"
            assert (await client.request(method, url)).status_code == 404
    async with site.client(await site.key(tenant=None)) as operator:
        both = (await operator.get("/v1/sessions", params={"tenant": "*"})).json()["items"]
        assert {one["id"] for one in both} == set(found.values())


async def test_a_session_is_followed_live_without_a_gap(
    anyone: httpx.AsyncClient, bot: Conversing
) -> None:
    """Lines have their numbers as ids; a client that comes back gets the rest, once."""
    session = (await send(anyone, "one", wait_ms=0, status=202))["session"]
    url = f"/v1/sessions/{session}/events"
    async with tail(anyone, url) as events:
        state, first = await take(events, 2)
        assert (state[:2], state[2]["state"], state[2]["node"]) == (
            (None, "state"),
            "running",
            None,
        )
        assert (first[0], first[1], first[2]["text"]) == ("1", "message", "one")
        await bot.answer("two")
        reply, waiting = await take(events, 2)
        assert (reply[0], reply[2]["direction"], reply[2]["text"]) == ("2", "out", "two")
        assert (waiting[1], waiting[2]["state"]) == ("state", "waiting")
    await send(anyone, "three", "m2", wait_ms=0, status=202)
    await bot.answer("four")
    async with tail(anyone, url, **{"Last-Event-ID": "2"}) as events:
        came = await take(events, 3)
        assert [(line, data.get("text")) for line, _, data in came] == [
            (None, None),
            ("3", "three"),
            ("4", "four"),
        ]
    refused = await anyone.get(url, headers={"Last-Event-ID": "x"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")


async def _stream(engine: Engine, claim: Claim, number: int, *words: str) -> None:
    start, frames = 0, []
    for word in words:
        part = {"number": number, "start": start, "text": word}
        frames.append(NewFrame(type="reply", payload=msgspec.json.encode(part)))
        start += len(word)
    await engine.streams.append(claim.id, claim.lease, frames)


async def test_a_reply_is_read_while_it_is_written(
    anyone: httpx.AsyncClient, engine: Engine, bot: Conversing
) -> None:
    """Parts first, then the line with the whole text; one who joins gets the parts so far."""
    session = (await send(anyone, "hello", wait_ms=0, status=202))["session"]
    url = f"/v1/sessions/{session}/events"
    claim: Claim = await bot.claim()  # type: ignore[operator]
    opened = NewReply(step="say:1", payload=b'{"text":"..."}', open=True)
    async with tail(anyone, url) as events:
        await take(events, 2)
        await engine.sessions.turn(claim.id, claim.lease, [opened])
        await _stream(engine, claim, 2, "Once ", "upon ")
        parts = await take(events, 2)
        assert [part[:2] for part in parts] == [(None, "frame")] * 2
        assert [data for _, _, data in parts] == [
            {"number": 2, "text": "Once ", "start": 0},
            {"number": 2, "text": "upon ", "start": 5},
        ]
        async with tail(anyone, url, **{"Last-Event-ID": "1"}) as joined:
            late = await take(joined, 3)
            assert "".join(data["text"] for _, _, data in late[1:]) == "Once upon "
        whole = NewReply(step="say:1:end", payload=b'{"text":"Once upon a time"}', number=2)
        await engine.sessions.turn(claim.id, claim.lease, [whole])
        ((id_, name, data),) = await take(events, 1)
        assert (id_, name, data["text"], data["open"]) == (
            "2",
            "message",
            "Once upon a time",
            False,
        )


async def test_an_operator_takes_over_and_gives_back(
    anyone: httpx.AsyncClient, bot: Conversing
) -> None:
    """A person's words are in the transcript with their name, written once per key."""
    session = (await send(anyone, "hello", wait_ms=0, status=202))["session"]
    await bot.answer("Hi.")
    url = f"/v1/sessions/{session}"
    taken = (await anyone.post(f"{url}/handover", json={"to": "bea", "reason": "angry"})).json()
    assert (taken["state"], taken["person"]) == ("person", "bea")
    assert taken["handover_reason"] == "angry"
    answer = await send(anyone, "help", "m2")
    assert (answer["execution"], answer["state"], answer["replies"]) == (None, "responded", [])
    words = {"text": "I am Bea.", "author": "bea", "idempotency_key": "k"}
    said = [(await anyone.post(f"{url}/messages", json=words)).json() for _ in range(2)]
    assert said[0] == said[1]
    assert (said[0]["author"], said[0]["text"], said[0]["direction"]) == ("bea", "I am Bea.", "out")
    back = (await anyone.post(f"{url}/handover", json={"to": "flow"})).json()
    assert (back["state"], back["person"]) == ("waiting", None)
    shown = (await anyone.get(url)).json()
    lines = [(line["direction"], line["text"]) for line in shown["transcript"]]
    assert lines == [
        ("in", "hello"),
        ("out", "Hi."),
        ("note", "bea answers: angry"),
        ("in", "help"),
        ("out", "I am Bea."),
        ("note", "the conversation answers"),
    ]
    assert (shown["node"], shown["last"]) == (None, 6)
    last = (await anyone.get(url, params={"lines": 2})).json()["transcript"]
    assert [line["number"] for line in last] == [5, 6]
    both = {"text": "a", "payload": {"text": "b"}}
    assert (await anyone.post(f"{url}/messages", json=both)).status_code == 422
    assert (await anyone.post(f"{url}/messages", json={})).status_code == 422


async def test_a_session_is_ended_and_erased(anyone: httpx.AsyncClient, bot: Conversing) -> None:
    """The next message starts again; erased, it is gone for those who follow it, too."""
    first = await send(anyone, "hello", wait_ms=0, status=202)
    await bot.answer("Hi.")
    url = f"/v1/sessions/{first['session']}"
    ended = (await anyone.post(f"{url}/end", json={"reason": "solved"})).json()
    assert (ended["state"], ended["execution"]) == ("idle", None)
    second = await send(anyone, "again", "m2", wait_ms=0, status=202)
    assert second["session"] == first["session"]
    assert second["execution"] != first["execution"]
    async with tail(anyone, f"{url}/events", **{"Last-Event-ID": "3"}) as events:
        await take(events, 1)
        assert (await anyone.delete(url)).status_code == 204
        ((_, name, problem),) = await take(events, 1)
        assert (name, problem["code"]) == ("error", "session_not_found")
    assert (await anyone.get(url)).json()["code"] == "session_not_found"
    assert (await anyone.get(f"/v1/executions/{second['execution']}")).status_code == 404


async def test_transcripts_are_read_in_pages(anyone: httpx.AsyncClient, bot: Conversing) -> None:
    """By number, or by the cursor of the page before."""
    session = (await send(anyone, "hello", wait_ms=0, status=202))["session"]
    await bot.answer("a", "b", "c")
    url = f"/v1/sessions/{session}/transcript"
    page = (await anyone.get(url, params={"limit": 3})).json()
    assert [line["text"] for line in page["items"]] == ["hello", "a", "b"]
    rest = (await anyone.get(url, params={"cursor": page["next_cursor"]})).json()
    assert ([line["text"] for line in rest["items"]], rest["next_cursor"]) == (["c"], None)
    after = (await anyone.get(url, params={"after": 3})).json()
    assert after == rest


async def test_operating_needs_an_operator(site: Site, engine: Engine) -> None:
    """A submitter talks and reads; what changes a session is for operators."""
    await publish(engine)
    async with site.client(await site.key("submitter")) as client:
        session = (await send(client, "hello", wait_ms=0, status=202))["session"]
        url = f"/v1/sessions/{session}"
        assert (await client.get(f"{url}/transcript")).status_code == 200
        for verb, given in (
            ("messages", {"text": "a"}),
            ("handover", {"to": "bea"}),
            ("end", {}),
            ("resend", {"number": 1}),
        ):
            assert (await client.post(f"{url}/{verb}", json=given)).status_code == 403
        assert (await client.delete(url)).status_code == 403
    async with site.client(await site.key("viewer")) as client:
        assert (await client.post(SEND, json=body("x"))).status_code == 403


async def test_what_changes_a_session_is_in_the_audit_log(
    site: Site, engine: Engine, anyone: httpx.AsyncClient
) -> None:
    """With the session that it was about, and without a word of it."""
    await publish(engine)
    session = (await send(anyone, "hello", wait_ms=0, status=202))["session"]
    await anyone.post(f"/v1/sessions/{session}/end", json={"reason": "secret"})
    entries = (await anyone.get("/v1/audit")).json()["items"]
    routes = {entry["route"]: entry for entry in entries}
    assert routes["/v1/sessions/{id}/end"]["target"] == {"id": session}
    assert "secret" not in str(entries)
    assert site.engine is engine
