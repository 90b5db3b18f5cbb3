"""Two tenants use the same names: each has its own things and learns nothing of the other's.

By HTTP with the keys of two tenants, by HTTP as an operator that names the tenant, with the
client, and near the store. The command line is in tests/acceptance/test_cli_tenants.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from holdfast import App
from holdfast.client import Client
from holdfast.engine import Engine
from holdfast.errors import InvalidInput, ScheduleNotFound
from holdfast.model.executions import Filter, NewExecution
from holdfast.model.schedules import NewSchedule
from holdfast.model.timing import Timing
from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, THEIRS, Site


@pytest.fixture
async def ours(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    async with site.client(await site.key(tenant=OURS)) as client:
        yield client


@pytest.fixture
async def theirs(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    async with site.client(await site.key(tenant=THEIRS)) as client:
        yield client


async def ask(client: httpx.AsyncClient, method: str, path: str, body: Any = None) -> Any:
    """Call and return what it says; it must succeed."""
    response = await client.request(method, f"/v1/{path}", json=body)
    assert response.is_success, response.text
    return response.json() if response.content else None


# Schedules

NIGHTLY: dict[str, Any] = {"id": "nightly", "cron": "0 3 * * *", "execution": {"kind": "work"}}


def nightly(tenant: str, **fields: Any) -> NewSchedule:
    """Return a schedule of a tenant."""
    execution = NewExecution(kind="work", tenant=tenant)
    return NewSchedule(
        id="nightly", execution=execution, timing=Timing(every_ms=60_000), **fields
    )


async def test_two_tenants_have_a_schedule_of_the_same_name(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    """What one does with its own, the other does not notice."""
    for client in (ours, theirs):
        created = await client.post("/v1/schedules", json=NIGHTLY)
        assert created.status_code == 201, created.text
        assert created.json()["id"] == "nightly"
    await ask(ours, "PATCH", "schedules/nightly", {"paused": True})
    assert (await ask(ours, "GET", "schedules/nightly"))["paused"]
    assert not (await ask(theirs, "GET", "schedules/nightly"))["paused"]
    for client in (ours, theirs):
        listed = (await ask(client, "GET", "schedules"))["items"]
        assert [one["id"] for one in listed] == ["nightly"]
    fired = await ask(theirs, "POST", "schedules/nightly/trigger", {"key": "k"})
    view = await ask(theirs, "GET", "schedules/nightly")
    assert view["last_execution"] in (None, fired["id"])
    await ask(ours, "DELETE", "schedules/nightly")
    assert (await ours.get("/v1/schedules/nightly")).status_code == 404
    assert (await theirs.get("/v1/schedules/nightly/next")).status_code == 200
    missing = await operator.get("/v1/schedules/nightly")
    assert (missing.status_code, missing.json()["code"]) == (404, "schedule_not_found")
    named = await ask(operator, "GET", f"schedules/nightly?tenant={THEIRS}")
    assert (named["id"], named["tenant"]) == ("nightly", THEIRS)


async def test_a_conflict_of_schedules_is_one_with_its_own(ours: httpx.AsyncClient) -> None:
    """The message has the name as the tenant knows it."""
    await ask(ours, "POST", "schedules", NIGHTLY)
    other = await ours.post("/v1/schedules", json={**NIGHTLY, "cron": "1 3 * * *"})
    assert (other.status_code, other.json()["code"]) == (409, "schedule_conflict")
    assert OURS not in other.text


async def test_near_and_far_schedules_have_the_same_names(site: Site, engine: Engine) -> None:
    """A tenant's client names no tenant, an operator's does, near the store as well."""
    async with (
        Client(site.url, key=await site.key(tenant=OURS)) as ours,
        Client(site.url, key=await site.key(tenant=None)) as operator,
    ):
        await ours.schedules.put(nightly("default"))
        await operator.schedules.put(nightly(THEIRS, jitter_ms=5))
        await engine.schedules.put(nightly("default", jitter_ms=7))
        for tenant, jitter in ((OURS, 0), (THEIRS, 5), ("default", 7)):
            for place in (engine, operator):
                schedule = await place.schedules.get("nightly", tenant=tenant)
                assert (schedule.tenant, schedule.plan.jitter_ms) == (tenant, jitter)
        assert (await ours.schedules.get("nightly")).tenant == OURS
        await operator.schedules.pause("nightly", tenant=OURS)
        assert (await engine.schedules.get("nightly", tenant=OURS)).plan.paused
        await operator.schedules.resume("nightly", tenant=OURS)
        assert len(await operator.schedules.next_times("nightly", 2, tenant=OURS)) == 2
        await operator.schedules.trigger("nightly", tenant=OURS)
        await operator.schedules.delete("nightly", tenant=OURS)
        with pytest.raises(ScheduleNotFound):
            await ours.schedules.get("nightly")
        page = await engine.schedules.list()
        assert [one.tenant for one in page.items] == ["default", THEIRS]


async def test_a_schedule_stays_with_its_tenant(engine: Engine) -> None:
    """It belongs to the tenant of its executions, so these cannot become another's."""
    await engine.schedules.create(nightly(OURS))
    execution = NewExecution(kind="work", tenant=THEIRS)
    with pytest.raises(InvalidInput, match="execution.tenant"):
        await engine.schedules.update("nightly", {"execution": execution}, tenant=OURS)


async def test_schedules_of_one_name_fire_apart(engine: Engine, clock: Clock) -> None:
    """Also the lines behind their executions are their own."""
    for tenant in (OURS, THEIRS, "default"):
        await engine.schedules.create(nightly(tenant, overlap="queue"))
    for _ in range(2):
        await clock.advance(60_000)
        await engine.schedules.run_due()
    for tenant in (OURS, THEIRS, "default"):
        schedule = await engine.schedules.get("nightly", tenant=tenant)
        assert (schedule.fired, schedule.running, schedule.queued) == (2, 1, 1)
        page = await engine.list(Filter(tag=("schedule", "nightly"), tenant=tenant))
        assert len(page.items) == 2


async def test_a_worker_declares_its_schedules_in_its_tenant(site: Site, engine: Engine) -> None:
    """It boots although another tenant has a schedule of the same name."""
    app = App()

    @app.schedule(cron="0 3 * * *")
    @app.task
    async def report() -> None: ...

    plan = app.schedules["report"]
    junk = replace(nightly(THEIRS, paused=True), id="report")
    await engine.schedules.create(junk)
    async with Client(site.url, key=await site.key("worker", "submitter", tenant=OURS)) as client:
        declared = await client.schedules.put(plan)
        assert (declared.tenant, declared.plan.timing) == (OURS, plan.timing)
        await client.schedules.put(replace(plan, jitter_ms=5))
    assert (await engine.schedules.get("report", tenant=OURS)).plan.jitter_ms == 5
    assert (await engine.schedules.get("report", tenant=THEIRS)).plan.paused
