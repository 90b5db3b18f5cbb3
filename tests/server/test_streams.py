"""Streams over HTTP: appended by the holder, read in pages, followed live."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from holdfast.testing.clock import Clock
from tests.server.conftest import Site
from tests.server.test_contract import claim, code_of, submit
from tests.server.test_live_events import tail, take

LIVE = {"Accept": "text/event-stream"}


async def append(
    client: httpx.AsyncClient, one: str, held: Any, *frames: Any, **fields: Any
) -> httpx.Response:
    body = {"lease": held, "frames": list(frames), **fields}
    return await client.post(f"/v1/executions/{one}/frames", json=body)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "payload": said}


async def test_frames_are_read_as_they_were_written(anyone: httpx.AsyncClient) -> None:
    """Every type, numbered, with every digit; in pages."""
    one = await submit(anyone)
    held = (await claim(anyone))["lease"]
    frames = [
        text("é"),
        {"type": "json", "payload": {"n": 12345678901234567890123}},
        {"type": "bytes", "payload": "AP8=", "encoding": "base64"},
        {"type": "bytes", "payload": "plain"},
        {"type": "log", "payload": {"level": "info", "message": "m"}, "encoding": "utf8"},
        {"type": "text", "payload": "..", "encoding": "morse"},
    ]
    done = await append(anyone, one, held, *frames, key="b1")
    assert done.json() == {"first": "1", "last": "6", "version": 0}
    assert (await append(anyone, one, held, *frames, key="b1")).json() == done.json()
    path = f"/v1/executions/{one}/stream"
    page = (await anyone.get(path, params={"limit": "4"})).json()
    rest = (await anyone.get(path, params={"cursor": page["next_cursor"]})).json()
    after = (await anyone.get(path, params={"after": "4"})).json()
    assert after == rest
    assert rest["next_cursor"] is None
    seen = page["items"] + rest["items"]
    assert [frame["id"] for frame in seen] == ["1", "2", "3", "4", "5", "6"]
    assert [
        {key: frame[key] for key in ("type", "payload", "encoding") if key in frame}
        for frame in seen
    ] == [*frames[:3], {**frames[3], "encoding": "utf8"}, *frames[4:]]
    assert seen[0]["at"] == "2026-01-01T00:00:00.000Z"
    assert "12345678901234567890123" in (await anyone.get(path)).text


@pytest.mark.parametrize(
    ("frame", "status", "code"),
    [
        (text("x" * (64 * 1024 + 1)), 413, "too_large"),
        ({"type": "json", "payload": "x" * (64 * 1024)}, 413, "too_large"),
        ({"type": "bytes", "payload": "A" * 90_000, "encoding": "base64"}, 413, "too_large"),
        ({"type": "text", "payload": 1}, 422, "invalid_input"),
        ({"type": "bytes", "payload": "!", "encoding": "base64"}, 422, "invalid_input"),
        ({"type": "attempt", "payload": {}}, 422, "invalid_input"),
        ({"type": "summary", "payload": [1]}, 422, "invalid_input"),
        ({"type": "text"}, 422, "invalid_input"),
    ],
)
async def test_a_wrong_frame_refuses_the_batch(
    anyone: httpx.AsyncClient, frame: Any, status: int, code: str
) -> None:
    """All or none."""
    one = await submit(anyone)
    held = (await claim(anyone))["lease"]
    assert code_of(await append(anyone, one, held, text("good"), frame)) == (status, code)
    assert (await anyone.get(f"/v1/executions/{one}/stream")).json()["items"] == []
    stale = {**held, "epoch": 9}
    assert code_of(await append(anyone, one, stale, text("x"))) == (409, "stale_lease")


async def test_the_last_frames_come_with_the_end(anyone: httpx.AsyncClient) -> None:
    """A summary among them refuses the end, and nothing is written; a repeated end adds nothing."""
    one = await submit(anyone)
    held = (await claim(anyone))["lease"]
    path = f"/v1/executions/{one}"
    summary = {"type": "summary", "payload": {"a": 1}}
    wrong = {"lease": held, "result": 1, "frames": [text("x"), summary]}
    assert code_of(await anyone.post(f"{path}/complete", json=wrong)) == (422, "invalid_input")
    assert (await anyone.get(path)).json()["state"] == "active"
    right = {"lease": held, "result": 1, "frames": [text("a"), text("b")]}
    for _ in range(2):
        assert (await anyone.post(f"{path}/complete", json=right)).json() == {"state": "completed"}
    items = (await anyone.get(f"{path}/stream")).json()["items"]
    assert [frame["payload"] for frame in items] == ["a", "b"]


async def test_a_document_is_kept(anyone: httpx.AsyncClient) -> None:
    """Summary frames are merge patches into it."""
    one = await submit(anyone)
    path = f"/v1/executions/{one}/summary"
    assert (await anyone.get(path)).json() == {"document": {}, "version": 0}
    held = (await claim(anyone))["lease"]
    for patch in ({"a": {"b": 1, "c": [1]}}, {"a": {"b": None, "c": [2]}}):
        await append(anyone, one, held, {"type": "summary", "payload": patch})
    assert (await anyone.get(path)).json() == {"document": {"a": {"c": [2]}}, "version": 2}


async def test_a_stream_is_followed_over_attempts_to_its_end(
    anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """What was said, what is said, a mark for the next attempt, and `end`; resumable."""
    retry = {"max_attempts": 2, "backoff": {"kind": "fixed", "initial_ms": 1_000}}
    one = await submit(anyone, retry=retry)
    held = (await claim(anyone))["lease"]
    await append(anyone, one, held, text("a"))
    path = f"/v1/executions/{one}/stream"
    async with tail(anyone, path, **LIVE) as events:
        ((seen, name, data),) = await take(events, 1)
        assert (seen, name, data["payload"], data["attempt"]) == (data["id"], "text", "a", 0)
        await append(anyone, one, held, text("b"))
        assert (await take(events, 1))[0][2]["payload"] == "b"
    error = {"type": "E", "message": "m"}
    await anyone.post(f"/v1/executions/{one}/fail", json={"lease": held, "error": error})
    await clock.advance_and_tick(1_000)
    held = (await claim(anyone))["lease"]
    await append(anyone, one, held, text("c"))
    async with tail(anyone, path, **LIVE, **{"Last-Event-ID": data["id"]}) as events:
        got = await take(events, 3)
        assert [name for _, name, _ in got] == ["text", "attempt", "text"]
        assert [data["attempt"] for _, _, data in got] == [0, 1, 1]
        await anyone.post(f"/v1/executions/{one}/complete", json={"lease": held})
        async with asyncio.timeout(10):
            rest = [received async for received in events]
    assert [(name, data) for _, name, data in rest] == [("end", {"state": "completed"})]
    wrong = await anyone.get(path, headers={**LIVE, "Last-Event-ID": "x"})
    assert code_of(wrong) == (422, "invalid_input")


async def test_line_breaks_of_a_payload_do_not_break_its_event(anyone: httpx.AsyncClient) -> None:
    """JSON that was written with line breaks is followed as any other."""
    one = await submit(anyone)
    held = (await claim(anyone))["lease"]
    frame = '{"type": "json", "payload": {\n"a": 1,\r\n"b": 2}}'
    body = f'{{"lease": {json.dumps(held)}, "frames": [{frame}]}}'
    await anyone.post(f"/v1/executions/{one}/frames", content=body)
    async with tail(anyone, f"/v1/executions/{one}/stream", **LIVE) as events:
        ((_, _, data),) = await take(events, 1)
    assert data["payload"] == {"a": 1, "b": 2}


async def test_a_tenant_follows_so_many_at_once(site: Site, anyone: httpx.AsyncClient) -> None:
    """One more is refused and told when to come back; a page is not a tail."""
    one = await submit(anyone)
    path = f"/v1/executions/{one}/stream"
    await site.engine.streams.set_tails(1)
    async with tail(anyone, path, **LIVE):
        refused = await anyone.get(path, headers=LIVE)
        assert code_of(refused) == (429, "too_many_tails")
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["retryable"] is True
        assert (await anyone.get(path)).status_code == 200


async def test_a_parameter_is_not_null(anyone: httpx.AsyncClient) -> None:
    """Whoever has no value leaves it out."""
    await anyone.post("/v1/executions", json={"kind": "work", "id": "x"})
    response = await anyone.get("/v1/executions/x/stream", params={"after": "null"})
    assert (response.status_code, response.json()["field"]) == (422, "after")


async def test_a_head_leaves_no_reader_behind(site: Site, anyone: httpx.AsyncClient) -> None:
    """Its answer has no events, so nobody asks for the first one."""
    one = await submit(anyone)
    answer = await anyone.head(f"/v1/executions/{one}/stream", headers=LIVE)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert site.engine.streams.tails.counts() == {}
