"""Schedules over HTTP, as the contract has them."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, THEIRS, Site

HOURLY: dict[str, Any] = {
    "id": "hourly",
    "cron": "0 * * * *",
    "timezone": "Europe/Berlin",
    "execution": {"kind": "work", "input": {"n": 1.50}, "tags": {"a": "b"}},
    "overlap": "skip",
}


async def test_a_schedule_is_made_changed_and_removed(anyone: httpx.AsyncClient) -> None:
    """The same content again is no conflict, other content is."""
    created = await anyone.post("/v1/schedules", json=HOURLY)
    assert created.status_code == 201, created.text
    view = created.json()
    assert (view["cron"], view["overlap"], view["catch_up"]) == ("0 * * * *", "skip", "none")
    assert view["execution"]["input"] == {"n": 1.5}
    assert (await anyone.post("/v1/schedules", json=HOURLY)).status_code == 200
    other = await anyone.post("/v1/schedules", json={**HOURLY, "cron": "1 * * * *"})
    assert (other.status_code, other.json()["code"]) == (409, "schedule_conflict")
    changed = await anyone.patch("/v1/schedules/hourly", json={"every_ms": 5000, "paused": True})
    assert (changed.json()["every_ms"], changed.json()["cron"], changed.json()["next_at"]) == (
        5000,
        *(None, None),
    )
    assert len((await anyone.get("/v1/schedules/hourly/next")).json()["items"]) == 10
    listed = (await anyone.get("/v1/schedules")).json()["items"]
    assert [one["id"] for one in listed] == ["hourly"]
    assert (await anyone.delete("/v1/schedules/hourly")).status_code == 204
    gone = await anyone.get("/v1/schedules/hourly")
    assert (gone.status_code, gone.json()["code"]) == (404, "schedule_not_found")


async def test_what_makes_no_sense_is_refused(anyone: httpx.AsyncClient) -> None:
    """No timing, two of them, an unknown zone, an execution with an id of its own."""
    bad: list[dict[str, Any]] = [
        {"cron": "0 * * * *", "every_ms": 5000},
        {"cron": "0 * * * * *"},
        {"cron": "0 * * * *", "timezone": "Europe/Nowhere"},
        {"every_ms": 5000, "execution": {"kind": "work", "id": "x"}},
        {},
    ]
    for fields in bad:
        body = {"id": "s", "execution": {"kind": "work"}, **fields}
        refused = await anyone.post("/v1/schedules", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input"), fields


async def test_it_may_fire_ten_times_a_second(
    anyone: httpx.AsyncClient, site: Site, clock: Clock
) -> None:
    """Whoever tries a schedule out does not want to wait."""
    body = {"id": "s", "every_ms": 100, "execution": {"kind": "work"}}
    assert (await anyone.post("/v1/schedules", json=body)).status_code == 201
    for _ in range(3):
        await clock.advance(100)
        await site.engine.schedules.run_due()
    assert len((await anyone.get("/v1/executions")).json()["items"]) == 3


async def test_it_fires_when_it_is_due_or_told(
    anyone: httpx.AsyncClient, site: Site, clock: Clock
) -> None:
    """By the clock, and once for each key by hand."""
    body = {"id": "s", "every_ms": 5000, "execution": {"kind": "work"}}
    await anyone.post("/v1/schedules", json=body)
    first = await anyone.post("/v1/schedules/s/trigger", json={"key": "k"})
    again = await anyone.post("/v1/schedules/s/trigger", json={"key": "k"})
    assert first.status_code == 200
    assert first.json()["id"] == again.json()["id"]
    await clock.advance(5000)
    await site.engine.schedules.run_due()
    view = (await anyone.get("/v1/schedules/s")).json()
    assert view["fired"] == 1
    found = await anyone.get("/v1/executions", params={"tag": "schedule:s"})
    assert len(found.json()["items"]) == 2


async def test_a_schedule_belongs_to_the_tenant_of_its_executions(site: Site) -> None:
    """Which is the key's own; naming another is refused, seeing another's too."""
    async with site.client(await site.key(tenant=OURS)) as ours:
        created = await ours.post("/v1/schedules", json=HOURLY)
        assert created.json()["tenant"] == OURS
        foreign = {**HOURLY, "id": "f", "execution": {"kind": "work", "tenant": THEIRS}}
        refused = await ours.post("/v1/schedules", json=foreign)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        moved = {"execution": {"kind": "work", "tenant": THEIRS}}
        assert (await ours.patch("/v1/schedules/hourly", json=moved)).status_code == 403
        changed = await ours.patch("/v1/schedules/hourly", json={"execution": {"kind": "other"}})
        assert (changed.json()["tenant"], changed.json()["execution"]["kind"]) == (OURS, "other")
    async with site.client(await site.key(tenant=THEIRS)) as theirs:
        assert (await theirs.get("/v1/schedules")).json()["items"] == []
        for call in (
            theirs.get("/v1/schedules/hourly"),
            theirs.patch("/v1/schedules/hourly", json={"paused": True}),
            theirs.delete("/v1/schedules/hourly"),
            theirs.post("/v1/schedules/hourly/trigger", json={}),
        ):
            missing = await call
            assert (missing.status_code, missing.json()["code"]) == (404, "schedule_not_found")
    async with site.client(await site.key(tenant=None)) as operator:
        named = {**HOURLY, "id": "n", "execution": {"kind": "work", "tenant": THEIRS}}
        assert (await operator.post("/v1/schedules", json=named)).json()["tenant"] == THEIRS
