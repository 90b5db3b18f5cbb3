"""Writer leases and the archive over HTTP, as the contract has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from holdfast.archive import Archiver, open_archive, set_archive
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.server.conftest import OURS, THEIRS, Site
from tests.support.archives import end_retention, live

KEY = "/v1/writer-leases/reports%2Fmain"


async def acquire(client: httpx.AsyncClient, holder: str = "a", **fields: Any) -> httpx.Response:
    body = {"holder": holder, "ttl_ms": 30_000, **fields}
    return await client.post(f"{KEY}/acquire", json=body)


def own(lease: dict[str, Any]) -> dict[str, Any]:
    return {name: lease[name] for name in ("holder", "incarnation", "token")}


async def test_a_lease_is_taken_kept_and_given_up(anyone: httpx.AsyncClient) -> None:
    """Others are held off meanwhile; the next one's token is larger."""
    assert (await anyone.get(KEY)).json()["code"] == "not_found"
    taken = await acquire(anyone)
    assert taken.status_code == 201
    lease = taken.json()
    assert (lease["key"], lease["token"]) == ("reports/main", {"term": 1, "generation": 1})
    held = await acquire(anyone, "b")
    assert (held.status_code, held.json()["code"], held.json()["holder"]) == (409, "held", "a")
    assert held.json()["expires_at"] == lease["expires_at"]
    again = await acquire(anyone, "a")
    assert again.json()["code"] == "held"
    same = await acquire(anyone, "a", incarnation=lease["incarnation"])
    assert same.json()["token"] == {"term": 1, "generation": 2}
    stale = await anyone.post(f"{KEY}/refresh", json=own(lease))
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_lease")
    lease = same.json()
    kept = await anyone.post(f"{KEY}/refresh", json={**own(lease), "ttl_ms": 60_000})
    assert kept.json()["ttl_ms"] == 60_000
    for _ in range(2):
        released = await anyone.post(f"{KEY}/release", json=own(lease))
        assert (released.status_code, released.json()["released"]) == (200, True)
    assert (await acquire(anyone, "b")).json()["token"] == {"term": 1, "generation": 3}
    shown = (await anyone.get(KEY)).json()
    assert [past["ended"] for past in shown["holders"]] == ["reacquired", "released"]


async def test_a_lease_is_handed_over(anyone: httpx.AsyncClient) -> None:
    """The successor takes it at once, others are held off."""
    lease = (await acquire(anyone)).json()
    for _ in range(2):
        given = await anyone.post(f"{KEY}/handover", json={**own(lease), "to": "b"})
        assert (given.status_code, given.json()["successor"]) == (200, "b")
    assert (await acquire(anyone, "c")).json()["code"] == "held"
    assert (await acquire(anyone, "b")).status_code == 201
    nameless = await anyone.post(f"{KEY}/handover", json=own(lease))
    assert nameless.status_code == 422


async def test_a_higher_term_takes_a_live_lease_if_it_says_so(anyone: httpx.AsyncClient) -> None:
    """A lower term is fenced, whatever else holds."""
    lease = (await acquire(anyone)).json()
    assert (await acquire(anyone, "b", term=2)).json()["code"] == "held"
    assert (await acquire(anyone, "b", preempt=True)).json()["code"] == "held"
    preempted = await acquire(anyone, "b", term=2, preempt=True)
    assert preempted.json()["token"] == {"term": 2, "generation": 2}
    fenced = await acquire(anyone, "a", term=1)
    assert (fenced.status_code, fenced.json()["code"], fenced.json()["current_term"]) == (
        *(409, "fenced"),
        2,
    )
    lost = await anyone.post(f"{KEY}/refresh", json=own(lease))
    assert lost.json()["code"] == "fenced"


async def test_a_lease_is_free_when_its_time_is_over(anyone: httpx.AsyncClient) -> None:
    """Not later, however short it is."""
    lease = (await acquire(anyone)).json()
    assert (await acquire(anyone, "b")).json()["wait_ms"] <= lease["ttl_ms"]
    await anyone.post(f"{KEY}/refresh", json={**own(lease), "ttl_ms": 1})

    async def taken() -> bool:
        return (await acquire(anyone, "b")).status_code == 201

    await wait_for(taken)
    assert (await anyone.post(f"{KEY}/refresh", json=own(lease))).json()["code"] == "stale_lease"


async def test_a_key_may_have_any_characters(anyone: httpx.AsyncClient) -> None:
    """Percent-encoded; what is written differently is another lease."""
    names = ("a/b c", "a/b=20c", "ü?#%", "x" * 256)
    for name in names:
        path = f"/v1/writer-leases/{quote(name, safe='')}"
        taken = await anyone.post(f"{path}/acquire", json={"holder": "a", "ttl_ms": 30_000})
        assert (taken.status_code, taken.json()["key"]) == (201, name)
        assert taken.json()["token"]["generation"] == 1
        assert (await anyone.get(path)).json()["key"] == name
    for name in ("a//b", "../b", "/a", "x" * 257):
        wrong = await anyone.get(f"/v1/writer-leases/{quote(name, safe='')}")
        assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_input")


async def test_each_tenant_has_its_own_leases(site: Site) -> None:
    """The same key is another lease; where they are kept cannot be named."""
    for tenant in (OURS, THEIRS, "default"):
        async with site.client(await site.key(tenant=tenant)) as client:
            taken = await acquire(client)
            assert (taken.status_code, taken.json()["key"]) == (201, "reports/main")
            held = await acquire(client, "b")
            assert "tenants/" not in held.text
            for key in (f"tenants%2F{OURS}%2Freports%2Fmain", "..%2Fx"):
                sneaking = await client.get(f"/v1/writer-leases/{key}")
                assert sneaking.status_code == 422, sneaking.text
    async with site.client(await site.key(tenant=None)) as operator:
        shown = await operator.get(KEY, params={"tenant": OURS})
        assert shown.json()["holder"] == "a"


async def test_archived_executions_are_listed(site: Site, clock: Clock, tmp_path: Path) -> None:
    """By the filters of the live ones; a tenant sees its own, the manifest is the operators'."""
    store = site.engine.store
    async with site.client(await site.key(tenant="t1")) as tenant:
        assert (await tenant.get("/v1/archive/executions")).json()["items"] == []
        async with site.client(await site.key(tenant=None)) as operator:
            missing = await operator.get("/v1/archive/manifest")
            assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
            await set_archive(store, str(tmp_path))
            ids = [await live(store, clock, number) for number in range(6)]
            await end_retention(store, clock)
            await Archiver(store, (await open_archive(store)).objects).run_once(wait_s=0)
            page = await operator.get("/v1/archive/executions", params={"tenant": "*"})
            assert {one["id"] for one in page.json()["items"]} == set(ids)
            first = await operator.get(
                "/v1/archive/executions", params={"tenant": "*", "limit": 4, "state": "completed"}
            )
            assert {one["state"] for one in first.json()["items"]} == {"completed"}
            manifest = (await operator.get("/v1/archive/manifest")).json()
            assert (manifest["executions"], manifest["token"]["generation"]) == (6, 1)
        own_items = (await tenant.get("/v1/archive/executions")).json()["items"]
        assert {one["tenant"] for one in own_items} == {"t1"}
        assert (await tenant.get("/v1/archive/manifest")).status_code == 403
