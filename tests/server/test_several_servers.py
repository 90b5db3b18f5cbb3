"""Several servers on one store, callers that leave, and one server that stops."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest

from holdfast.server.auth import identity
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.polling import wait_for
from tests.server.conftest import Site

CLAIM = {"lanes": ["default"], "wait_ms": 20_000}


async def test_servers_of_one_store_work_together(
    site: Site, operator: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one accepts another hands out; a key that one revokes the other refuses soon."""
    monkeypatch.setattr(identity, "FRESH_S", 0.05)
    settings = ServerSettings(port=0)
    async with serving(site.engine, settings) as (server, url):
        second = Site(server, site.engine, url)
        secret = await second.key()
        async with second.client(secret) as other:
            waiting = asyncio.ensure_future(other.post("/v1/workers/w/claim", json=CLAIM))
            created = await operator.post("/v1/executions", json={"kind": "k", "tenant": "ours"})
            (claim,) = (await waiting).json()["claims"]
            assert claim["execution"]["id"] == created.json()["id"]
            keys = (await other.get("/v1/keys")).json()["items"]
            await operator.delete(f"/v1/keys/{keys[0]['id']}")

            async def refused() -> bool:
                return (await other.get("/v1/lanes")).status_code == 401

            await wait_for(refused)


async def test_a_caller_that_leaves_takes_no_work_with_it(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """The long poll of a worker that is gone claims nothing any more."""
    leaving = asyncio.ensure_future(anyone.post("/v1/workers/gone/claim", json=CLAIM))
    waits = site.server._services.waits

    async def waiting() -> bool:
        return waits.total == 1

    async def gone() -> bool:
        return waits.total == 0

    await wait_for(waiting)
    leaving.cancel()
    await wait_for(gone)
    await site.engine.submit("k")
    claimed = await anyone.post("/v1/workers/here/claim", json={"lanes": ["default"]})
    assert len(claimed.json()["claims"]) == 1


async def test_answers_are_not_held_back(site: Site) -> None:
    """Nagle's algorithm would hold each body until its headers are acknowledged, for 40 ms."""
    async with site.client() as client:
        await client.get("/healthz")
        (connection,) = site.server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_stopping_server_lets_nobody_wait(site: Site) -> None:
    """Long polls end at once with what they have, and it takes no more calls."""
    one = await site.engine.submit("k", delay_ms=60_000)
    async with site.client() as client:
        claiming = asyncio.ensure_future(client.post("/v1/workers/w/claim", json=CLAIM))
        asking = asyncio.ensure_future(
            client.get(f"/v1/executions/{one.id}/result", params={"wait_ms": "20000"})
        )

        async def waiting() -> bool:
            return site.server._services.waits.total == 2

        await wait_for(waiting)
        site.server.stop()
        async with asyncio.timeout(5):
            assert (await claiming).json() == {"claims": []}
            assert (await asking).status_code == 404
