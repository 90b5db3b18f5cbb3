"""Live events: of one execution and of a tenant, resumable, bounded, ended cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from holdfast.engine import Engine
from holdfast.model.executions import Failure
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.store.valkey.client import Client
from holdfast.testing.clock import Clock
from tests.conftest import make_store
from tests.server.conftest import Serve, Site

Received = tuple[str | None, str, Any]


@contextlib.asynccontextmanager
async def tail(
    client: httpx.AsyncClient, path: str, **headers: str
) -> AsyncIterator[AsyncIterator[Received]]:
    """Open a live stream; yields its events as id, name, data."""
    async with client.stream("GET", path, headers=headers, timeout=20) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield _parsed(response)


async def _parsed(response: httpx.Response) -> AsyncIterator[Received]:
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line.startswith("retry:"):
            yield None, "retry", int(line.removeprefix("retry: "))
        elif ":" in line and not line.startswith(":"):
            name, _, text = line.partition(": ")
            fields[name] = text
        elif not line and "data" in fields:
            yield fields.get("id"), fields["event"], json.loads(fields["data"])
            fields = {}


async def take(events: AsyncIterator[Received], count: int) -> list[Received]:
    async with asyncio.timeout(15):
        return [await anext(events) for _ in range(count)]


async def claim(engine: Engine) -> Any:
    async with engine.claimer(worker="w") as claimer:
        (one,) = await claimer.claim(1, 30_000)
        return one


async def test_an_execution_is_followed_to_its_end(
    site: Site, anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """Its past first, then every change, then `end`, and the stream ends."""
    retry = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=1_000))
    one = await site.engine.submit("k", retry=retry)
    async with tail(anyone, f"/v1/executions/{one.id}/events") as events:
        assert [name for _, name, _ in await take(events, 1)] == ["created"]
        held = await claim(site.engine)
        (claimed,) = await take(events, 1)
        assert (claimed[1], claimed[2]["worker"]) == ("claimed", "w")
        await site.engine.fail(one.id, held.lease, Failure(type="E", message="m"))
        ((_, name, data),) = await take(events, 1)
        assert (name, data["state"], data["error"]["type"]) == ("failed", "delayed", "E")
        await clock.advance_and_tick(1_000)
        assert await take(events, 1) == [(None, "state", {"state": "waiting"})]
        held = await claim(site.engine)
        await take(events, 1)
        await site.engine.complete(one.id, held.lease)
        rest = [received async for received in events]
    assert [(name, data.get("state")) for _, name, data in rest] == [
        ("completed", None),
        ("end", {"state": "completed"}["state"]),
    ]


async def test_following_goes_on_after_the_last_event(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """By header or parameter; what was seen does not come again."""
    one = await site.engine.submit("k")
    path = f"/v1/executions/{one.id}/events"
    async with tail(anyone, path) as events:
        ((seen, _, _),) = await take(events, 1)
    await site.engine.cancel(one.id, "enough")
    async with tail(anyone, path, **{"Last-Event-ID": str(seen)}) as events:
        names = [name async for _, name, _ in events]
    assert names == ["cancelled", "end"]
    async with tail(anyone, f"{path}?after={seen}") as events:
        assert [name async for _, name, _ in events] == names


@pytest.mark.parametrize("path", ["/v1/executions/{id}/events", "/v1/events"])
async def test_a_wrong_position_is_refused(
    site: Site, anyone: httpx.AsyncClient, path: str
) -> None:
    """Before the stream begins."""
    one = await site.engine.submit("k")
    response = await anyone.get(path.format(id=one.id), headers={"Last-Event-ID": "nonsense"})
    assert (response.status_code, response.json()["code"]) == (422, "invalid_input")


async def test_a_tenant_is_followed(site: Site) -> None:
    """All its executions and nobody else's; a position is enough to miss nothing."""
    secret = await site.key("viewer", tenant="acme")
    async with site.client(secret) as client:
        async with tail(client, "/v1/events") as events:
            assert await take(events, 1) == [(None, "open", {"tenant": "acme"})]
            await site.engine.submit("k", tenant="other")
            one = await site.engine.submit("k", tenant="acme", id="a1")
            ((seen, name, data),) = await take(events, 1)
            assert (name, data["execution"], data["from"], data["state"]) == (
                "execution",
                "a1",
                None,
                "waiting",
            )
        await site.engine.cancel(one.id)
        await site.engine.submit("k", tenant="acme", id="a2")
        async with tail(client, "/v1/events", **{"Last-Event-ID": str(seen)}) as events:
            received = await take(events, 3)
    assert [name for _, name, _ in received] == ["open", "execution", "execution"]
    assert [data["state"] for _, _, data in received[1:]] == ["cancelled", "waiting"]


async def test_a_feed_that_was_not_kept_has_a_gap(
    site: Site, anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """The listener learns that it missed something."""
    async with tail(anyone, "/v1/events") as events:
        await take(events, 1)
        await site.engine.submit("k")
        ((seen, _, _),) = await take(events, 1)
    await clock.advance_and_tick(6 * 60_000)
    async with tail(anyone, "/v1/events", **{"Last-Event-ID": str(seen)}) as events:
        assert [name for _, name, _ in await take(events, 2)] == ["gap", "open"]


async def test_a_feed_over_partitions_is_in_one_order(
    single_client: Client,
) -> None:
    """Whatever partition they are in; every one once, also over reconnections."""
    store = await make_store(single_client, 16)
    engine, clock = Engine(store), Clock(store)
    async with (
        serving(engine, ServerSettings(port=0)) as (server, url),
        Site(server, engine, url).client() as client,
    ):
        ids = [f"x{n}" for n in range(60)]
        got: list[Received] = []
        seen: str | None = None
        async with tail(client, "/v1/events") as events:
            await take(events, 1)
            for one in ids[:30]:
                await engine.submit("k", id=one)
                await clock.advance(1)
            got += await take(events, 20)
            seen = got[-1][0]
        for one in ids[30:]:
            await engine.submit("k", id=one)
        await clock.advance(1)
        async with tail(client, "/v1/events", **{"Last-Event-ID": str(seen)}) as events:
            await take(events, 1)
            got += await take(events, 40)
    await engine.close()
    assert sorted(data["execution"] for _, _, data in got) == sorted(ids)
    assert [data["execution"] for _, _, data in got[:30]] == ids[:30]


async def test_live_streams_are_limited_for_each_tenant(serve: Serve) -> None:
    """One too many gets 429; when one ends there is room again."""
    async with serve(most_tails=2) as site:
        ours, theirs = await site.key(tenant="ours"), await site.key(tenant="theirs")
        async with site.client(ours) as client, site.client(theirs) as other:
            async with tail(client, "/v1/events") as first, tail(client, "/v1/events"):
                await take(first, 1)
                refused = await client.get("/v1/events")
                assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
                assert refused.headers["retry-after"] == "1"
                async with tail(other, "/v1/events") as free:
                    await take(free, 1)
            for _ in range(50):
                if site.server._services.tails.total == 0:
                    break
                await asyncio.sleep(0.02)
            async with tail(client, "/v1/events") as again:
                await take(again, 1)


async def test_a_stopping_server_ends_streams_with_a_hint(serve: Serve) -> None:
    """Clients learn when to come back, and the server does not wait for them."""
    async with serve() as site, site.client() as client, tail(client, "/v1/events") as events:
        await take(events, 1)
        site.server.stop()
        async with asyncio.timeout(5):
            rest = [received async for received in events]
    assert rest == [(None, "retry", 1_000)]


async def test_a_stream_ends_when_its_time_is_over(serve: Serve) -> None:
    """With the same hint; whoever comes back goes on where it was."""
    async with serve(tail_s=0.3) as site, site.client() as client:
        async with tail(client, "/v1/events") as events, asyncio.timeout(5):
            await take(events, 1)
            await site.engine.submit("k", id="x1")
            (_, _, first), hint = [received async for received in events]
        assert (first["execution"], hint) == ("x1", (None, "retry", 1_000))
        async with tail(client, "/v1/events") as again:
            await take(again, 1)
            await site.engine.submit("k", id="x2")
            assert (await take(again, 1))[0][2]["execution"] == "x2"
