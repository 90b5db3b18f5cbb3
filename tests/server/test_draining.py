"""A worker that was asked to finish gets no more work over HTTP, and learns why."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import httpx
import pytest

from holdfast.errors import AlreadyTerminal, StoreUnavailable
from holdfast.model.states import State
from holdfast.server.draining import give_back
from holdfast.testing.polling import wait_for
from tests.server.conftest import Site
from tests.server.test_contract import submit
from tests.support.fault_injection import meanwhile


async def register(client: httpx.AsyncClient, *workers: str) -> None:
    for worker in workers:
        body = {"worker": "pool", "lanes": ["default"]}
        assert (await client.put(f"/v1/workers/{worker}", json=body)).status_code == 201


async def claim(client: httpx.AsyncClient, worker: str, **fields: Any) -> Any:
    response = await client.post(
        f"/v1/workers/{worker}/claim", json={"lanes": ["default"], **fields}
    )
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_draining_worker_gets_nothing(site: Site, anyone: httpx.AsyncClient) -> None:
    """Whether this server was asked or another; what is there is for the others."""
    await register(anyone, "w1", "w2", "w3")
    assert (await anyone.post("/v1/workers/w1/drain")).status_code == 200
    await site.engine.workers.drain("w2")
    one = await submit(anyone)
    nothing = {"claims": [], "draining": True}
    for _ in range(2):
        assert await claim(anyone, "w1") == nothing
        assert await claim(anyone, "w2", wait_ms=50) == nothing
    found = await claim(anyone, "w3")
    assert [found["claims"][0]["execution"]["id"], set(found)] == [one, {"claims"}]


async def test_a_worker_that_waits_for_work_is_drained(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """What comes after it was asked goes to others."""
    await register(anyone, "w1", "w2")
    waiting = asyncio.ensure_future(claim(anyone, "w1", wait_ms=20_000))

    async def listening() -> bool:
        return any(key[0] == "w1" for key in site.server._services.claimers._kept)

    await wait_for(listening)
    assert (await anyone.post("/v1/workers/w1/drain")).status_code == 200
    one = await submit(anyone)
    assert await waiting == {"claims": [], "draining": True}
    found = await claim(anyone, "w2", wait_ms=5_000)
    assert found["claims"][0]["execution"]["id"] == one


async def test_a_repeated_claim_of_a_draining_worker_returns_what_the_first_has_claimed(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """The answer was lost; others do not wait for the end of the leases."""
    await register(anyone, "w1", "w2")
    one = await submit(anyone)
    first = await claim(anyone, "w1", request="r", lease_ms=60_000)
    assert first["claims"][0]["execution"]["id"] == one
    assert (await anyone.post("/v1/workers/w1/drain")).status_code == 200
    again = await claim(anyone, "w1", request="r", again=True, wait_ms=20_000)
    assert again == {"claims": [], "draining": True}
    assert (await site.engine.describe(one)).state is State.WAITING


async def test_one_that_comes_back_works_again(anyone: httpx.AsyncClient) -> None:
    """Under the same name, after it has left."""
    await register(anyone, "w1")
    await anyone.post("/v1/workers/w1/drain")
    await submit(anyone)
    assert (await claim(anyone, "w1"))["draining"]
    await anyone.delete("/v1/workers/w1")
    await register(anyone, "w1")
    assert len((await claim(anyone, "w1"))["claims"]) == 1


async def test_one_that_ends_meanwhile_leaves_no_other_with_a_draining_worker(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """All that it has claimed goes back at once."""
    await register(anyone, "w1")
    await site.engine.workers.drain("w1")
    ended, other = [await submit(anyone) for _ in range(2)]

    async def end() -> None:
        with contextlib.suppress(AlreadyTerminal):
            await site.engine.cancel(ended)

    with meanwhile(site.engine.store.client, "hf_execution_delay", end):
        assert await claim(anyone, "w1", max=2) == {"claims": [], "draining": True}
    assert (await site.engine.describe(other)).state is State.WAITING


async def test_claims_are_returned_though_one_is_refused(
    site: Site, anyone: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those after it do not wait for the end of their leases."""
    ids = [await submit(anyone) for _ in range(3)]
    async with site.engine.claimer(worker="w1", lanes=["default"]) as claimer:
        claims = await claimer.claim(3, 30_000)
    delay = site.engine.delay

    async def picky(execution_id: str, *args: Any) -> Any:
        if execution_id == claims[0].id:
            raise StoreUnavailable("not now")
        return await delay(execution_id, *args)

    monkeypatch.setattr(site.engine, "delay", picky)
    await give_back(site.engine, claims)
    monkeypatch.undo()
    states = [(await site.engine.describe(one)).state for one in ids]
    assert sorted(states) == [State.ACTIVE, State.WAITING, State.WAITING]
