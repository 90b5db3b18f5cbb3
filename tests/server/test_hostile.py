"""What callers try who mean harm, or do not know better."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
from typing import Any

import httpx
import pytest

from holdfast.model.audit import AuditLog
from holdfast.server import claimers
from holdfast.server.http import connections
from holdfast.testing.polling import wait_for
from tests.server.conftest import OURS, THEIRS, Serve, Site

#: JSON that no parser can follow; as bytes it is a payload like any other.
DEEP = base64.b64encode(b"[" * 100_000 + b"]" * 100_000).decode()


async def claim(client: httpx.AsyncClient, **fields: Any) -> list[dict[str, Any]]:
    body = {"lanes": ["default"], "max": 10, **fields}
    response = await client.post("/v1/workers/w/claim", json=body)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["claims"]
    return found


async def test_a_payload_that_is_too_deep_is_handed_out_as_bytes(anyone: httpx.AsyncClient) -> None:
    """It must not keep what is claimed or listed beside it from anybody."""
    deep = {"kind": "k", "input_base64": DEEP}
    await anyone.post("/v1/executions", json=deep)
    await anyone.post("/v1/executions", json={"kind": "k"})
    one, other = await claim(anyone)
    assert (one["input_base64"], other["input"]) == (DEEP, None)
    body = {"lease": one["lease"], "name": "s", "result_base64": DEEP}
    step = await anyone.post(f"/v1/executions/{one['execution']['id']}/steps", json=body)
    assert step.json()["result_base64"] == DEEP
    await anyone.put("/v1/queues/q", json={"mode": "work"})
    await anyone.post("/v1/queues/q/messages", json={"items": [{"payload_base64": DEEP}]})
    (message,) = (await anyone.get("/v1/queues/q/peek")).json()["items"]
    assert message["payload_base64"] == DEEP
    body = {"id": "s", "every_ms": 1_000, "execution": deep}
    assert (await anyone.post("/v1/schedules", json=body)).status_code == 201
    (schedule,) = (await anyone.get("/v1/schedules")).json()["items"]
    assert schedule["execution"]["input_base64"] == DEEP


@pytest.mark.parametrize("kind", ["text", "bytes"])
async def test_a_frame_whose_number_no_parser_takes_is_refused(
    anyone: httpx.AsyncClient, kind: str
) -> None:
    """JSON bounds no number; its place is not one for a number anyway."""
    await anyone.post("/v1/executions", json={"kind": "k", "id": "x"})
    (held,) = await claim(anyone)
    lease = '{{"id": "{id}", "epoch": {epoch}, "attempt": {attempt}}}'.format(**held["lease"])
    body = f'{{"lease": {lease}, "frames": [{{"type": "{kind}", "payload": 1e999}}]}}'
    refused = await anyone.post("/v1/executions/x/frames", content=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")


async def test_a_claim_repeats_none_of_another_tenant(site: Site) -> None:
    """The ids of requests are the callers' own, so two tenants may choose the same."""
    async with (
        site.client(await site.key(tenant=OURS)) as ours,
        site.client(await site.key(tenant=THEIRS)) as theirs,
    ):
        await theirs.post("/v1/executions", json={"kind": "k", "input": "secret"})
        assert await claim(theirs, request="r1")
        assert await claim(ours, request="r1", again=True) == []
        assert len(await claim(theirs, request="r1", again=True)) == 1


async def test_a_slow_pattern_keeps_nobody_waiting(anyone: httpx.AsyncClient) -> None:
    """Schemas are the workers', payloads those of strangers; the server is everybody's."""
    await anyone.post("/v1/executions", json={"kind": "k", "id": "x"})
    (held,) = await claim(anyone)
    body = {"lease": held["lease"], "waitpoints": [{"name": "w", "schema": {"pattern": "^(a+)+$"}}]}
    (made,) = (await anyone.post("/v1/executions/x/waitpoints", json=body)).json()["items"]
    signal = {"token": made["token"], "name": "n", "payload": "a" * 60 + "b"}
    refused = await anyone.post(f"/v1/signals/{made['id']}", json=signal)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_payload")


@pytest.mark.parametrize("rest", [b"junk", b'{"key":"payloads/theirs/x","size":1,"sha256":"0"}'])
async def test_no_input_stands_for_the_payload_of_somebody_else(
    anyone: httpx.AsyncClient, rest: bytes
) -> None:
    """What the store keeps instead of a large payload comes from the server alone."""
    forged = base64.b64encode(b"\x00holdfast-away\x01" + rest).decode()
    item = {"kind": "k", "input_base64": forged}
    await anyone.put("/v1/queues/q", json={"mode": "work"})
    await anyone.post("/v1/queues/q/messages", json={"items": [{"payload": 1}]})
    read = await anyone.post("/v1/queues/q/read", json={"consumer": "c"})
    (delivery,) = read.json()["deliveries"]
    schedule = {"id": "s", "every_ms": 1_000}
    for path, body in (
        ("executions", item),
        ("graphs", {"members": [{"key": "m", **item}]}),
        ("schedules", {**schedule, "execution": item}),
        ("queues/q/commit", {"handle": delivery["handle"], "effects": [{"execution": item}]}),
    ):
        refused = await anyone.post(f"/v1/{path}", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input"), path
    body = {"items": [item, {"kind": "k"}]}
    bad, good = (await anyone.post("/v1/executions:batch", json=body)).json()["items"]
    assert (bad["code"], good["state"]) == ("invalid_input", "waiting")


async def connect(site: Site) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = httpx.URL(site.url)
    return await asyncio.open_connection(url.host, url.port)


@pytest.mark.parametrize("packet", [b"x-name: " + b"a" * 8_000 + b"\r\n", b"a" * 8_000])
async def test_a_head_without_end_is_cut_off(site: Site, packet: bytes) -> None:
    """Nobody knows yet who calls: many headers, or one that is all there is."""
    reader, writer = await connect(site)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-first: ")
    sent = 0
    with contextlib.suppress(ConnectionError):
        while not reader.at_eof() and sent < 64 << 20:
            writer.write(packet)
            await writer.drain()
            await asyncio.sleep(0)
            sent += len(packet)
    writer.close()
    assert sent < 8 << 20


@pytest.mark.parametrize("begun", [b"", b"\r\n", b"GET /healthz HTTP/1.1\r\nhost"])
async def test_a_connection_that_asks_for_nothing_is_closed(
    site: Site, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """At its beginning, and after an answer; whatever else it says."""
    monkeypatch.setattr(connections, "HEAD_S", 0.1)
    whole = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    for first in (b"", whole):
        reader, writer = await connect(site)
        writer.write(first + begun)
        async with asyncio.timeout(10):
            answer = await reader.read()
        assert (b"200 OK" in answer) is bool(first)
        writer.close()


async def test_calls_may_share_packets(site: Site) -> None:
    """A head counts for itself, whatever came in the same packet."""
    body = b'{"kind": "k", "input": "%s"}' % (b"a" * 200_000)
    call = b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%s"
    reader, writer = await connect(site)
    writer.write(call % (len(body), body) * 5)
    async with asyncio.timeout(10):
        for _ in range(5):
            assert await reader.readline() == b"HTTP/1.1 201 Created\r\n"
            head = await reader.readuntil(b"\r\n\r\n")
            (length,) = re.findall(rb"content-length: (\d+)", head)
            await reader.readexactly(int(length))
    writer.close()


async def test_strangers_are_counted_before_they_are_heard(serve: Serve) -> None:
    """Each signal of a batch is as much work as one alone; whoever owes calls is not read."""
    signal = {"waitpoint": "x~w1", "token": "t", "name": "n"}
    async with serve(rate=10) as site, site.client() as client:
        sent = await client.post("/v1/signals:batch", json={"items": [signal] * 50})
        assert (sent.status_code, len(sent.json()["items"])) == (200, 50)
        refused = await client.post("/v1/signals:batch", content=b"no JSON")
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.json()["retry_after_ms"] > 2_000
        assert (await client.get("/v1/lanes")).status_code == 200


async def test_workers_of_many_names_leave_nothing_behind(
    site: Site, anyone: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What listens for each of them is kept for a while, but not for any number of them."""
    monkeypatch.setattr(claimers, "MOST_KEPT", 3)
    for number in range(10):
        body = {"lanes": [f"lane-{number}"]}
        assert (await anyone.post(f"/v1/workers/w{number}/claim", json=body)).status_code == 200
    kept = site.server._services.claimers._kept

    async def are_few() -> bool:
        return len(kept) <= 3

    await wait_for(are_few)
    assert (await anyone.post("/v1/workers/w9/claim", json=body)).status_code == 200


async def test_the_audit_log_cannot_be_flushed_by_those_who_may_not(serve: Serve) -> None:
    """Refusals are kept apart from what operators did, in short, and none for lack of a rate."""
    async with serve(rate=1) as site, site.client(await site.key("viewer")) as client:
        statuses = [
            (await client.delete(f"/v1/keys/{'k' * 20_000}")).status_code for _ in range(20)
        ]
        rows = {
            log: await site.engine.store.audit.list(
                log, before="+", since="-", tenant="", key="", limit=100
            )
            for log in AuditLog
        }
    assert set(statuses) == {403, 429}
    assert rows[AuditLog.CONTROL][0] == []
    refused, _ = rows[AuditLog.CALLS]
    assert len(refused) == statuses.count(403)
    assert {len(one.target["key"]) for one in refused} == {512}


async def test_calls_that_wait_for_each_other_are_limited_too(serve: Serve) -> None:
    """Those with the id of one that is under way stay open as long as that one."""
    async with serve(most_waits=1) as site, site.client() as client:
        body = {"lanes": ["default"], "request": "r1"}
        first = asyncio.ensure_future(
            client.post("/v1/workers/w/claim", json={**body, "wait_ms": 20_000})
        )

        async def is_waiting() -> bool:
            return site.server._services.waits.total == 1

        await wait_for(is_waiting)
        refused = await client.post("/v1/workers/w/claim", json={**body, "again": True})
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        await site.engine.submit("k")
        assert len((await first).json()["claims"]) == 1
