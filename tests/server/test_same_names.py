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
from holdfast.errors import InvalidInput, QuotaNotFound, ScheduleNotFound
from holdfast.model.executions import NewExecution
from holdfast.model.ids import new_id
from holdfast.model.listing import Filter
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
    return NewSchedule(id="nightly", execution=execution, timing=Timing(every_ms=60_000), **fields)


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
    with pytest.raises(InvalidInput, match=r"execution\.tenant"):
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


# Budgets and quotas

LIMITS: dict[str, dict[str, Any]] = {
    "budgets": {"id": "packers", "limits": {"tokens": {"hard": 10}}},
    "quotas": {"id": "packers", "max_concurrent": 1},
}

OTHER: dict[str, dict[str, Any]] = {
    "budgets": {"limits": {"n": {"hard": 1}}},
    "quotas": {"max_concurrent": 7},
}


@pytest.mark.parametrize("noun", LIMITS)
async def test_two_tenants_have_a_limit_of_the_same_name(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient, operator: httpx.AsyncClient, noun: str
) -> None:
    """What runs under one does not count against the other."""
    for client in (ours, theirs):
        created = await client.post(f"/v1/{noun}", json=LIMITS[noun])
        assert (created.status_code, created.json()["id"]) == (201, "packers"), created.text
    submitted = await ask(ours, "POST", "executions", {"kind": "work", noun: ["packers"]})
    view = await ask(ours, "GET", f"executions/{submitted['id']}")
    assert view[noun] == ["packers"]
    conflict = await ours.post(f"/v1/{noun}", json={**LIMITS[noun], **OTHER[noun]})
    assert (conflict.status_code, OURS in conflict.text) == (409, False)
    for client in (ours, theirs):
        listed = (await ask(client, "GET", noun))["items"]
        assert [one["id"] for one in listed] == ["packers"]
    assert (await operator.get(f"/v1/{noun}/packers")).status_code == 404
    for path in (f"{noun}/packers?tenant={OURS}", f"{noun}/{OURS}%2Fpackers"):
        named = await ask(operator, "GET", path)
        assert (named["id"], named["tenant"]) == ("packers", OURS)
    own = await ask(ours, "GET", f"{noun}/{OURS}%2Fpackers")
    assert own["id"] == "packers"
    foreign = await theirs.get(f"/v1/{noun}/{OURS}%2Fpackers")
    nothing = await theirs.get(f"/v1/{noun}/{OURS}%2Fnothing")
    assert foreign.status_code == 404
    assert foreign.text.replace("packers", "nothing") == nothing.text


async def test_charges_of_one_name_are_apart(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient, engine: Engine
) -> None:
    """Usage, reservations, breaches and resets are each tenant's own, and so are parents."""
    for client in (ours, theirs):
        await ask(client, "POST", "budgets", {"id": "top", "limits": {"tokens": {"hard": 8}}})
        child = {"id": "packers", "limits": {}, "parent": "top"}
        assert (await ask(client, "POST", "budgets", child))["parent"] == "top"
    usage = {"usage": {"tokens": 7}, "key": "k"}
    assert (await ask(ours, "POST", "budgets/packers/usage", usage))["status"] == "ok"
    assert (await ask(theirs, "POST", "budgets/packers/usage", usage))["status"] == "ok"
    over = await ask(ours, "POST", "budgets/packers/usage", {"usage": {"tokens": 7}})
    assert (over["status"], over["budget"]) == ("hard_breach", "top")
    assert len((await ask(ours, "GET", "budgets/top/breaches"))["items"]) == 1
    assert (await ask(theirs, "GET", "budgets/top/breaches"))["items"] == []
    await ask(ours, "POST", "budgets/top/reset")
    assert (await ask(theirs, "GET", "budgets/top"))["usage"] == {"tokens": 7}
    await ask(ours, "PATCH", "budgets/top", {"limits": {"tokens": {"hard": 1}}})
    assert (await engine.budgets.get("top", tenant=THEIRS)).limits["tokens"].hard == 8
    held = {"usage": {"tokens": 1}, "key": "r"}
    assert (await ask(theirs, "POST", "budgets/top/reserve", held))["status"] == "ok"
    assert (await ask(theirs, "POST", "budgets/top/settle", held))["status"] == "ok"


async def test_a_quota_of_one_tenant_holds_nobody_else_back(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient
) -> None:
    """Each tenant fills its own; the reason is told with its own name."""
    for client in (ours, theirs):
        await ask(client, "POST", "quotas", LIMITS["quotas"])
        item = {"kind": "work", "quotas": ["packers"], "lane": "packing"}
        ids = [(await ask(client, "POST", "executions", item))["id"] for _ in range(2)]
        claimed = await ask(client, "POST", "workers/w/claim", {"lanes": ["packing"], "max": 5})
        assert len(claimed["claims"]) == 1
        why = (await ask(client, "GET", f"executions/{ids[1]}/explain"))["why"]
        assert "quota packers" in why
    await ask(ours, "PUT", "quotas/packers", {"max_concurrent": 3})
    assert (await ask(theirs, "GET", "quotas/packers"))["max_concurrent"] == 1
    await ask(ours, "DELETE", "quotas/packers")
    assert (await ask(theirs, "GET", "quotas/packers"))["running"] == 1


async def test_near_and_far_limits_have_the_same_names(site: Site, engine: Engine) -> None:
    """A tenant's client names no tenant, an operator's does, near the store as well."""
    async with (
        Client(site.url, key=await site.key(tenant=OURS)) as ours,
        Client(site.url, key=await site.key(tenant=None)) as operator,
    ):
        await ours.quotas.create("packers", max_concurrent=1)
        await operator.quotas.create("packers", tenant=THEIRS, max_concurrent=2)
        await engine.quotas.create("packers", max_concurrent=3)
        await ours.budgets.create("packers", limits={"tokens": {"hard": 1}})
        await operator.budgets.create("packers", tenant=THEIRS, limits={"tokens": {"hard": 2}})
        await engine.budgets.create("packers", limits={"tokens": {"hard": 3}})
        for most, tenant in enumerate((OURS, THEIRS, "default"), 1):
            for place in (engine, operator):
                quota = await place.quotas.get("packers", tenant=tenant)
                budget = await place.budgets.get("packers", tenant=tenant)
                assert (quota.tenant, quota.max_concurrent) == (tenant, most)
                assert (budget.tenant, budget.limits["tokens"].hard) == (tenant, most)
        assert (await ours.quotas.get("packers")).max_concurrent == 1
        await operator.quotas.set("packers", max_concurrent=9, tenant=OURS)
        await operator.budgets.set("packers", {"tokens": {"hard": 9}}, tenant=OURS)
        assert (await ours.quotas.get("packers")).max_concurrent == 9
        charge = await operator.budgets.report("packers", {"tokens": 10}, tenant=OURS)
        assert charge.budget == "packers"
        await operator.budgets.reserve("packers", {"tokens": 1}, key="k", tenant=OURS)
        await operator.budgets.settle("packers", {"tokens": 1}, key="k", tenant=OURS)
        assert len(await operator.budgets.breaches("packers", tenant=OURS)) == 1
        assert (await operator.budgets.reset("packers", tenant=OURS)).usage == {}
        await operator.quotas.delete("packers", tenant=OURS)
        with pytest.raises(QuotaNotFound):
            await ours.quotas.get("packers")


async def test_an_operator_puts_tenants_under_one_limit(
    ours: httpx.AsyncClient, operator: httpx.AsyncClient, engine: Engine
) -> None:
    """By a rule, or by its name in full; its tenant sees whose it is."""
    await engine.quotas.create("all", max_concurrent=1)
    await engine.quotas.create("bulk", tenant=THEIRS, max_concurrent=1)
    await ask(operator, "POST", f"quotas/bulk/attach?tenant={THEIRS}", LANE)
    assert [rule.id for rule in await engine.quotas.rules.list()] == [f"{THEIRS}/bulk"]
    item = {"kind": "work", "tenant": OURS, "lane": "packing", "quotas": ["default/all"]}
    made = await ask(operator, "POST", "executions", item)
    view = await ask(ours, "GET", f"executions/{made['id']}")
    assert sorted(view["quotas"]) == ["default/all", f"{THEIRS}/bulk"]
    refused = await ours.post("/v1/executions", json={"kind": "work", "quotas": ["default/all"]})
    assert (refused.status_code, refused.json()["code"]) == (404, "quota_not_found")
    await ask(operator, "POST", f"quotas/bulk/detach?tenant={THEIRS}", LANE)
    assert await engine.quotas.rules.list() == []


LANE = {"subject": "lane", "value": "packing"}


# Executions and graphs


async def claim(client: httpx.AsyncClient, lane: str = "default") -> dict[str, Any]:
    """Claim one execution."""
    reply = await ask(client, "POST", "workers/w/claim", {"lanes": [lane]})
    (claimed,) = reply["claims"]
    found: dict[str, Any] = claimed
    return found


async def test_two_tenants_have_an_execution_of_the_same_id(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    """From its submission to its result, each sees its own, under the id that it chose."""
    for n, client in enumerate((ours, theirs)):
        made = await client.post("/v1/executions", json={"id": "order-1", "kind": "k", "input": n})
        assert (made.status_code, made.json()["id"]) == (201, "order-1"), made.text
        again = await client.post("/v1/executions", json={"id": "order-1", "kind": "k", "input": n})
        assert (again.status_code, again.json()["id"]) == (200, "order-1")
        batch = {"items": [{"id": "order-1", "kind": "k", "input": n}]}
        (item,) = (await ask(client, "POST", "executions:batch", batch))["items"]
        assert (item["id"], item["duplicate"]) == ("order-1", True)
    for n, client in enumerate((ours, theirs)):
        claimed = await claim(client)
        assert claimed["execution"]["id"] == "order-1"
        lease = claimed["lease"]
        held = {"items": [{"execution": "order-1", "lease": lease}]}
        assert (await ask(client, "POST", "leases:renew", held))["items"][0]["ok"]
        done = {"lease": lease, "result": n}
        await ask(client, "POST", "executions/order-1/complete", done)
        assert await ask(client, "GET", "executions/order-1/result") == n
        for path in ("executions/order-1", f"executions/{(OURS, THEIRS)[n]}=order-1"):
            assert (await ask(client, "GET", path))["id"] == "order-1"
        listed = (await ask(client, "GET", "executions"))["items"]
        assert [one["id"] for one in listed] == ["order-1"]
    assert (await operator.get("/v1/executions/order-1")).status_code == 404
    for path in (f"executions/order-1?tenant={OURS}", f"executions/{OURS}=order-1"):
        view = await ask(operator, "GET", path)
        assert (view["id"], view["tenant"]) == (f"{OURS}=order-1", OURS)


async def test_an_id_of_another_tenant_is_that_of_nothing(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient
) -> None:
    """No status, no code and no word tells it; and no key can write into another tenant."""
    await ask(ours, "POST", "executions", {"id": "order-1", "kind": "k"})
    minted = (await ask(ours, "POST", "executions", {"kind": "k"}))["id"]
    for given in ("order-1", f"{OURS}=order-1", minted):
        for path in ("", "/history", "/explain", "/result", "/events", "/export", "/waitpoints"):
            response = await theirs.get(f"/v1/executions/{given}{path}")
            assert (response.status_code, response.json()["code"]) == (404, "execution_not_found")
            assert f"no execution has the id {given}" in response.json()["detail"]
    into = await theirs.post("/v1/executions", json={"id": f"{OURS}=order-2", "kind": "k"})
    assert (into.status_code, into.json()["code"]) == (422, "invalid_input")
    spelled = await ours.post("/v1/executions", json={"id": f"{OURS}=order-1", "kind": "k"})
    assert (spelled.status_code, spelled.json()["id"]) == (200, "order-1")
    other = await ours.post("/v1/executions", json={"id": "order-1", "kind": "other"})
    assert (other.status_code, OURS in other.text) == (409, False)


async def test_an_idempotency_key_of_another_tenant_cannot_be_taken(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient
) -> None:
    """The id that it stands for can be worked out, so nobody may choose such an id."""
    for path, body in (("executions", {"kind": "k"}), ("graphs", {"members": [MEMBER]})):
        made = await ask(ours, "POST", path, {**body, "idempotency_key": "order-1"})
        for given in (made["id"], made["id"][:-1] + "0"):
            refused = await theirs.post(f"/v1/{path}", json={**body, "id": given})
            assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")
        mine = await theirs.post(f"/v1/{path}", json={**body, "idempotency_key": "order-1"})
        assert mine.status_code == 201


MEMBER = {"key": "a", "kind": "k"}


async def test_waits_of_executions_of_one_id_are_apart(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    """Waitpoints have the id of their execution; whoever has the token needs no tenant."""
    tokens = []
    for client in (ours, theirs):
        await ask(client, "POST", "executions", {"id": "order-1", "kind": "k"})
        lease = (await claim(client))["lease"]
        body = {"lease": lease, "waitpoints": [{"name": "ok"}]}
        (made,) = (await ask(client, "POST", "executions/order-1/waitpoints", body))["items"]
        assert (made["id"], made["execution"]) == ("order-1~w1", "order-1")
        wait = {"waitpoint": "ok", "signal": "approve"}
        waiting = {"lease": lease, "waitpoints": [{"id": "order-1~w1"}], "condition": wait}
        answer = await ask(client, "POST", "executions/order-1/suspend", waiting)
        assert answer["state"] == "suspended"
        read = await ask(client, "GET", "executions/order-1/waitpoints/order-1~w1/token")
        tokens.append(read["token"])
        inbox = (await ask(client, "GET", "waitpoints"))["items"]
        assert [one["id"] for one in inbox] == ["order-1~w1"]
        held = await ask(client, "GET", "executions/order-1/explain")
        assert (OURS not in str(held), THEIRS not in str(held)) == (True, True)
    signal = {"token": tokens[1], "name": "approve"}
    assert await ask(anyone, "POST", "signals/order-1~w1/read", {"token": tokens[1]})
    assert (await ask(anyone, "POST", "signals/order-1~w1", signal))["effect"] == "resumed"
    (sent,) = (await ask(theirs, "GET", "executions/order-1/signals"))["items"]
    assert sent["waitpoint"] == "order-1~w1"
    assert (await ask(theirs, "GET", "executions/order-1"))["state"] == "waiting"
    assert (await ask(ours, "GET", "executions/order-1"))["state"] == "suspended"
    full = {"token": tokens[0], "name": "approve"}
    assert (await ask(anyone, "POST", f"signals/{OURS}=order-1~w1", full))["effect"] == "resumed"
    stolen = await anyone.post(f"/v1/signals/{THEIRS}=order-1~w1", json=full)
    assert (stolen.status_code, stolen.json()["code"]) == (401, "invalid_token")


async def test_two_tenants_have_a_graph_of_the_same_id(
    ours: httpx.AsyncClient, theirs: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    """With members, which have ids of their own."""
    for n, client in enumerate((ours, theirs)):
        graph = {"id": "import", "members": [{"key": "a", "kind": f"k{n}"}]}
        made = await client.post("/v1/graphs", json=graph)
        assert (made.status_code, made.json()["id"]) == (201, "import"), made.text
        assert made.json()["members"] == {"a": "import~a"}
        grown = {"expected_revision": 1, "members": [{"key": "b", "kind": "k"}]}
        added = await ask(client, "POST", "graphs/import/members", grown)
        assert added["members"] == {"b": "import~b"}
        view = await ask(client, "GET", "graphs/import")
        assert (view["id"], view["members"]["a"]["id"]) == ("import", "import~a")
        member = await ask(client, "GET", "executions/import~a")
        assert (member["id"], member["graph"], member["kind"]) == ("import~a", "import", f"k{n}")
        listed = (await ask(client, "GET", "executions?graph=import"))["items"]
        assert sorted(one["id"] for one in listed) == ["import~a", "import~b"]
        assert [one["id"] for one in (await ask(client, "GET", "graphs"))["items"]] == ["import"]
    await ask(ours, "POST", "graphs/import/cancel", {})
    assert (await ask(theirs, "GET", "graphs/import"))["state"] == "running"
    assert (await operator.get("/v1/graphs/import")).status_code == 404
    assert (await ask(operator, "GET", f"graphs/import?tenant={THEIRS}"))["tenant"] == THEIRS


async def test_near_and_far_executions_have_the_same_ids(site: Site, engine: Engine) -> None:
    """Near the store, and for an operator, an id is in full; it finds the same execution."""
    async with (
        Client(site.url, key=await site.key(tenant=OURS)) as ours,
        Client(site.url, key=await site.key(tenant=None)) as operator,
    ):
        assert (await ours.submit("k", id="order-1")).id == "order-1"
        for place in (operator, engine):
            for tenant in (OURS, THEIRS):
                made = await place.submit("k", id="order-1", tenant=tenant)
                assert made.id == f"{tenant}=order-1"
                assert made.duplicate == (tenant == OURS or place is engine)
                assert (await place.describe(made.id)).tenant == tenant
        assert (await engine.submit("k", id="order-1")).id == "order-1"
        assert (await ours.describe("order-1")).tenant == OURS
        with pytest.raises(InvalidInput):
            await engine.submit("k", id=f"{THEIRS}=order-2", tenant=OURS)
        await ours.cancel("order-1")
        assert (await engine.describe(f"{OURS}=order-1")).state == "cancelled"
        assert (await engine.describe(f"{THEIRS}=order-1")).state == "waiting"


async def test_executions_of_a_schedule_have_ids_that_their_tenant_can_use(
    ours: httpx.AsyncClient,
) -> None:
    """Also where the id of the schedule looks as if it were minted."""
    for schedule_id in ("nightly", new_id()):
        await ask(ours, "POST", "schedules", {**NIGHTLY, "id": schedule_id})
        fired = await ask(ours, "POST", f"schedules/{schedule_id}/trigger", {"key": "k"})
        view = await ask(ours, "GET", f"executions/{fired['id']}")
        assert view["id"] == fired["id"]
        assert view["tags"]["schedule"] == schedule_id
