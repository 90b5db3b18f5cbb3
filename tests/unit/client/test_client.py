"""The client over HTTP: the surface of the engine, errors, lost answers."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from aiohttp import web

from holdfast import errors
from holdfast.client import Client
from holdfast.client.http import BY_CODE
from holdfast.errors import (
    AlreadyTerminal,
    HoldfastError,
    InvalidInput,
    OutcomeUnknown,
    StaleLease,
    StoreUnavailable,
    TaskError,
)
from holdfast.model.executions import Lease, NewExecution
from holdfast.model.store_urls import is_remote
from holdfast.model.tokens import Grant
from holdfast.model.waitpoints import Effect, NewSignal

Answer = Callable[[httpx.Request], httpx.Response]
LEASE = Lease("l", 1, 0)
OK = {"ok": True, "state": "completed"}


class Lost(Exception):
    """The call gets no answer: its connection breaks."""


@contextlib.asynccontextmanager
async def client_of(
    answer: Answer, *, timeout_ms: int = 300, patience_ms: int | None = None
) -> AsyncIterator[Client]:
    """Open a client whose server answers by a function."""

    async def handle(request: web.BaseRequest) -> web.Response:
        url = f"http://server{request.raw_path}"
        headers = list(request.headers.items())
        content = await request.read()
        try:
            reply = answer(httpx.Request(request.method, url, headers=headers, content=content))
        except Lost:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return web.Response(status=reply.status_code, body=reply.content)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with Client(
            url, key="k" * 40, timeout_ms=timeout_ms, patience_ms=patience_ms
        ) as client:
            yield client
    finally:
        await runner.cleanup()


def problem(status: int, code: str, **context: Any) -> httpx.Response:
    body = {"type": "t", "title": "t", "status": status, "detail": "d", "code": code}
    return httpx.Response(status, json={**body, "retryable": status == 503, **context})


async def test_a_signal_whose_answer_was_lost_is_sent_again_under_its_key() -> None:
    """It counts once."""
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(json.loads(request.content)["idempotency_key"])
        if len(keys) == 1:
            raise Lost
        return httpx.Response(200, json={"effect": "duplicate"})

    signal = NewSignal(waitpoint="x~w1", name="approve")
    async with client_of(answer) as client:
        assert await client.waitpoints.signal(signal, "token") is Effect.DUPLICATE
    assert keys[0] == keys[1]


async def test_results_of_one_moment_travel_in_one_call() -> None:
    """Each has its own answer; one that comes with frames goes alone."""
    calls: list[tuple[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        calls.append((request.url.path, body))
        refused = {"ok": False, "code": "stale_lease", "detail": "d", "state": "waiting"}
        late = [item["execution"] == "late" for item in body["items"]]
        return httpx.Response(200, json={"items": [refused if is_late else OK for is_late in late]})

    async with client_of(answer) as client:
        answers = await asyncio.gather(
            *(client.complete(name, LEASE, b'"x"') for name in ("a", "late", "b")),
            return_exceptions=True,
        )
    ((path, body),) = calls
    assert path == "/v1/leases:complete"
    assert [(item["execution"], item["result"]) for item in body["items"]] == [
        ("a", "x"),
        ("late", "x"),
        ("b", "x"),
    ]
    first, late, last = answers
    assert (first, last) == (None, None)
    assert isinstance(late, StaleLease)
    assert late.context == {"id": "late", "state": "waiting"}


async def test_a_server_of_an_older_release_gets_results_one_by_one() -> None:
    """The client asks once, and remembers."""
    paths: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        if request.url.path == "/v1/leases:complete":
            return problem(404, "not_found")
        return httpx.Response(200, json={"state": "completed"})

    async with client_of(answer) as client:
        await asyncio.gather(*(client.complete(name, LEASE) for name in "ab"))
        await client.complete("c", LEASE)
    assert paths[0] == "/v1/leases:complete"
    assert sorted(paths[1:]) == [f"/v1/executions/{name}/complete" for name in "abc"]


async def test_only_the_server_signs() -> None:
    """A ring that came over HTTP has no secrets to sign with."""
    keys = [{"kid": "k1", "fingerprint": "f1", "until": None}]
    reply = {"current": "k1", "previous": None, "keys": keys}
    async with client_of(lambda _: httpx.Response(200, json=reply)) as client:
        ring = await client.keyring.ring()
    assert ring.keys["k1"].fingerprint() == "f1"
    with pytest.raises(TaskError, match="only the server signs"):
        ring.sign(Grant("x~w1", "n", 0))
    with pytest.raises(TaskError, match="only the server checks"):
        ring.verify("t", "x~w1")


def _sse(*events: tuple[str, Any]) -> bytes:
    text = "".join(
        f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in events
    )
    return f": holdfast\n\n{text}".encode()


_WORD = {
    "id": "7",
    "attempt": 0,
    "type": "text",
    "payload": "a\u2028b",
    "at": "2026-01-01T00:00:00Z",
}


async def test_a_tail_that_lost_its_connection_says_where_to_go_on() -> None:
    """With a last frame `retry`, as the engine's own does; lines are those of the protocol."""
    async with client_of(lambda _: httpx.Response(200, content=_sse(("text", _WORD)))) as client:
        tail = await client.streams.tail("x")
        frames = [frame async for frame in tail]
    assert [(frame.id, frame.type) for frame in frames] == [(7, "text"), (7, "retry")]
    assert frames[0].text == "a\u2028b"
    assert tail.done


async def test_a_tail_raises_what_went_wrong() -> None:
    """At its beginning and in the middle."""
    gone = {"code": "execution_not_found", "detail": "gone"}
    events = _sse(("text", _WORD), ("error", gone))
    async with client_of(lambda _: httpx.Response(200, content=events)) as client:
        tail = await client.streams.tail("x")
        assert [frame.id for frame in await tail.next()] == [7]
        with pytest.raises(errors.ExecutionNotFound, match="gone"):
            await tail.next()
    async with client_of(lambda _: problem(429, "too_many_tails")) as client:
        with pytest.raises(errors.TooManyTails):
            await client.streams.tail("x")


async def test_a_stream_is_followed_where_its_connection_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while the server cannot be reached; every frame comes once, and the end."""
    monkeypatch.setattr("holdfast.client.streams.RETRY_AFTER_MS", 1)
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["after"])
        if len(asked) == 2:
            raise Lost
        events = [("text", _WORD)] if len(asked) == 1 else [("end", {"state": "completed"})]
        return httpx.Response(200, content=_sse(*events))

    async with client_of(answer) as client:
        frames = [frame async for frame in client.streams.follow("x")]
    assert [(frame.id, frame.type) for frame in frames] == [(7, "text"), (7, "end")]
    assert asked == ["0", "7", "7"]


@pytest.mark.parametrize(
    ("url", "key", "problem"),
    [
        ("http://", None, "url: must be http://HOST:PORT"),
        ("http://h:80/?tenant=a", None, "url: must be http://HOST:PORT"),
        ("http://h:99999", None, "url: is not that of a server"),
        ("http://ada:s3cret@h", "hf_1", "url: a login cannot be combined"),
        ("http://h", "hf_1\n", "key: has characters"),
        ("http://h", "schl\u00fcssel", "key: has characters"),
    ],
)
def test_what_cannot_be_a_server_or_a_key_is_told_at_once(
    url: str, key: str | None, problem: str
) -> None:
    """Neither a secret of it nor a traceback of the library is shown."""
    with pytest.raises(InvalidInput, match=f"^{re.escape(problem)}") as caught:
        Client(url, key=key)
    assert "s3cret" not in caught.value.message


async def test_a_server_that_is_not_there_is_told_in_plain_words() -> None:
    """And without the login of its URL."""
    async with Client("http://ada:s3cret@127.0.0.1:1/", timeout_ms=100) as client:
        with pytest.raises(StoreUnavailable) as caught:
            await client.describe("x")
    told = "http://***@127.0.0.1:1 cannot be reached (connection refused)"
    assert caught.value.message == told


async def test_patience_is_for_calls_that_cannot_have_happened() -> None:
    """A server that is not there is told soon; a lost answer is asked for as long as ever."""
    tries = {"GET": 0, "POST": 0}

    def answer(request: httpx.Request) -> httpx.Response:
        tries[request.method] += 1
        raise Lost

    async with client_of(answer, timeout_ms=500, patience_ms=20) as client:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await client.describe("x")
        with pytest.raises(OutcomeUnknown):
            await client.submit("work")
    # The library sends a read again by itself, once.
    assert tries["GET"] <= 2
    assert tries["POST"] > 2


def test_every_error_has_its_code() -> None:
    """So that problems become the errors that the engine raises."""
    kinds = [
        k for _, k in inspect.getmembers(errors, inspect.isclass) if issubclass(k, HoldfastError)
    ]
    assert {kind.code: kind for kind in kinds} == BY_CODE


@pytest.mark.parametrize(
    ("url", "remote"),
    [("http://h:1", True), ("https://h", True), ("valkey://h", False), ("embedded://x", False)],
)
def test_a_servers_url_is_recognized(url: str, remote: bool) -> None:
    """By its scheme."""
    assert is_remote(url) is remote


async def test_a_problem_becomes_its_error() -> None:
    """Class, message and context."""
    async with client_of(
        lambda _: problem(409, "already_terminal", id="x", state="failed")
    ) as client:
        with pytest.raises(AlreadyTerminal, match="d") as raised:
            await client.cancel("x")
    assert raised.value.context == {"id": "x", "state": "failed"}


async def test_an_unknown_problem_is_still_ours() -> None:
    """A newer server may know more codes."""
    async with client_of(lambda _: problem(409, "brand_new")) as client:
        with pytest.raises(HoldfastError, match="d"):
            await client.describe("x")


@pytest.mark.parametrize("status", [302, 502])
async def test_a_proxy_that_answers_for_the_server_is_trouble(status: int) -> None:
    """It speaks no problem details; nor is a key sent to where it points."""
    async with client_of(lambda _: httpx.Response(status, text="<html>")) as client:
        with pytest.raises(StoreUnavailable, match=str(status)):
            await client.describe("x")
        with pytest.raises(StoreUnavailable, match=str(status)):
            await client.streams.tail("x")


async def test_a_store_that_is_away_is_waited_for() -> None:
    """The call is sent again, the same."""
    seen: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        if len(seen) < 3:
            return problem(503, "store_unavailable")
        return httpx.Response(201, json={"id": "x", "state": "waiting"})

    async with client_of(answer, timeout_ms=5_000) as client:
        submitted = await client.submit("k")
    assert submitted.id == "x"
    assert len(set(seen)) == 1
    assert json.loads(seen[0])["id"]


async def test_a_server_that_says_when_to_come_back_is_heard() -> None:
    """Not earlier than it asks; and not at all if there is no time left then."""
    times: list[float] = []

    def answer(_: httpx.Request) -> httpx.Response:
        times.append(time.monotonic())
        if len(times) % 2:
            return problem(429, "rate_limited", retry_after_ms=200)
        return httpx.Response(201, json={"id": "x", "state": "waiting"})

    async with client_of(answer, timeout_ms=5_000) as client:
        await client.submit("k")
    assert times[1] - times[0] >= 0.2
    async with client_of(answer, timeout_ms=100) as client:
        with pytest.raises(errors.RateLimited):
            await client.submit("k")
    assert len(times) == 3


async def test_a_lost_answer_is_asked_for_again_with_the_same_id() -> None:
    """A submission that we named ourselves is no duplicate."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        (item,) = json.loads(request.content)["items"]
        seen.append(item["id"])
        if len(seen) == 1:
            raise Lost
        found = {"id": item["id"], "state": "waiting", "duplicate": True}
        return httpx.Response(200, json={"items": [found]})

    async with client_of(answer, timeout_ms=5_000) as client:
        (submitted,) = await client.submit_many([NewExecution(kind="k")])
    assert not isinstance(submitted, HoldfastError)
    assert (len(set(seen)), len(seen), submitted.duplicate) == (1, 2, False)


async def test_an_item_that_may_have_happened_is_never_called_refused() -> None:
    """The answer to a batch was lost; then one of its primaries was full."""
    calls = 0

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        first, _ = json.loads(request.content)["items"]
        if calls % 2:
            raise Lost
        found = {"id": first["id"], "state": "waiting", "duplicate": True}
        return httpx.Response(200, json={"items": [found, {"code": "store_full", "detail": "d"}]})

    async with client_of(answer, timeout_ms=5_000) as client:
        items = [NewExecution(kind="k"), NewExecution(kind="k")]
        _, second = await client.submit_many(items)
    assert isinstance(second, OutcomeUnknown)


async def test_a_cancellation_that_was_our_own_is_a_success() -> None:
    """Its first answer was lost."""
    calls = 0

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Lost
        return problem(409, "already_terminal", state="cancelled")

    async with client_of(answer, timeout_ms=5_000) as client:
        await client.cancel("x")
    assert calls == 2


@pytest.mark.parametrize("said", [False, True])
@pytest.mark.parametrize("verb", ["replay", "revoke_lease"])
async def test_what_must_not_happen_twice_is_sent_once(verb: str, said: bool) -> None:
    """The caller learns that it may have happened: no answer came, or the server does not know."""
    calls = 0

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        if said:
            return problem(503, "outcome_unknown")
        raise Lost

    async with client_of(answer) as client:
        with pytest.raises(OutcomeUnknown):
            await getattr(client, verb)("x")
    assert calls == 1


async def test_a_server_that_cannot_be_reached_changed_nothing() -> None:
    """Nothing was sent."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        async with Client(url, timeout_ms=300) as client:
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                await client.submit("k")


async def test_every_call_carries_the_key() -> None:
    """And ids are written so that they stay one part of the path."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return problem(404, "execution_not_found")

    async with client_of(answer) as client:
        with pytest.raises(errors.ExecutionNotFound):
            await client.explain("a/b~c")
    assert seen[0].headers["authorization"] == f"Bearer {'k' * 40}"
    assert seen[0].url.raw_path == b"/v1/executions/a%2Fb~c/explain"
