"""Budgets and quotas over HTTP, as the contract has them."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, THEIRS, Site

MEMBER = {"key": "first", "kind": "work"}


async def make_budget(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    body = {"limits": {"tokens": {"hard": 100, "soft": 80}}, **fields}
    response = await client.post("/v1/budgets", json=body)
    assert response.status_code in {200, 201}, response.text
    found: dict[str, Any] = response.json()
    return found


async def charge(client: httpx.AsyncClient, verb: str, tokens: int, **fields: Any) -> Any:
    body = {"usage": {"tokens": tokens}, **fields}
    response = await client.post(f"/v1/budgets/b/{verb}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def claim(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    response = await client.post("/v1/workers/w/claim", json={"lanes": ["default"], "max": 10})
    found: list[dict[str, Any]] = response.json()["claims"]
    return found


async def test_a_budget_may_be_reset_ten_times_a_second(
    anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """Whoever tries a budget out does not want to wait."""
    await make_budget(anyone, id="b", reset_ms=100)
    await charge(anyone, "usage", 100)
    assert (await charge(anyone, "usage", 1))["status"] == "hard_breach"
    await clock.advance_and_tick(100)
    assert (await charge(anyone, "usage", 1))["status"] == "ok"


async def test_a_budget_is_charged(anyone: httpx.AsyncClient) -> None:
    """Soft and hard breaches are told; a hard one changes nothing and uses up no key."""
    assert (await anyone.post("/v1/budgets", json={"id": "b", "limits": {}})).status_code == 201
    again = await anyone.post("/v1/budgets", json={"id": "b", "limits": {"x": {"hard": 1}}})
    assert (again.status_code, again.json()["code"]) == (409, "budget_conflict")
    changed = await anyone.patch(
        "/v1/budgets/b", json={"limits": {"tokens": {"hard": 100, "soft": 80}}}
    )
    assert changed.json()["limits"] == {"tokens": {"hard": 100, "soft": 80}}
    assert await charge(anyone, "usage", 70, key="k1") == {"status": "ok"}
    assert await charge(anyone, "usage", 70, key="k1") == {"status": "already_applied"}
    hard = await charge(anyone, "usage", 31, key="k2")
    assert (hard["status"], hard["dimension"], hard["current"], hard["limit"]) == (
        *("hard_breach", "tokens"),
        *(70, 100),
    )
    soft = await charge(anyone, "usage", 15, key="k2")
    assert (soft["status"], soft["current"], soft["limit"]) == ("soft_breach", 85, 80)
    found = (await anyone.get("/v1/budgets/b")).json()
    assert (found["usage"], found["breaches"]["hard"], found["breaches"]["soft"]) == (
        {"tokens": 85},
        *(1, 1),
    )
    assert len((await anyone.get("/v1/budgets/b/breaches")).json()["items"]) == 2
    emptied = (await anyone.post("/v1/budgets/b/reset")).json()
    assert (emptied["usage"], emptied["reserved"]) == ({"tokens": 0}, {"tokens": 0})


async def test_amounts_are_set_aside_and_settled(anyone: httpx.AsyncClient) -> None:
    """A reservation counts; what it did not use returns."""
    await make_budget(anyone, id="b")
    reserved = await charge(anyone, "reserve", 60, key="r")
    assert (reserved["status"], reserved["reserved"]) == ("ok", {"tokens": 60})
    assert (await charge(anyone, "usage", 50))["status"] == "hard_breach"
    settled = await charge(anyone, "settle", 20, key="r")
    assert (settled["status"], settled["usage"]) == ("ok", {"tokens": 20})
    body = {"usage": {"tokens": 1}, "key": "never"}
    missing = await anyone.post("/v1/budgets/b/settle", json=body)
    assert (missing.status_code, missing.json()["code"]) == (404, "reservation_not_found")
    wrong = await anyone.post("/v1/budgets/b/usage", json={"usage": {"tokens": -1}})
    assert wrong.status_code == 422


async def test_an_execution_spends_from_its_budget(anyone: httpx.AsyncClient) -> None:
    """With its lease; without a named budget from all of its own."""
    await make_budget(anyone, id="b")
    body = {"kind": "work", "id": "e", "budgets": ["b"]}
    assert (await anyone.post("/v1/executions", json=body)).status_code == 201
    (claimed,) = await claim(anyone)
    lease = {"lease": claimed["lease"]}
    used = {**lease, "usage": {"tokens": 10}, "key": "u"}
    assert (await anyone.post("/v1/executions/e/usage", json=used)).json() == {"status": "ok"}
    twice = await anyone.post("/v1/executions/e/usage", json=used)
    assert twice.json() == {"status": "already_applied"}
    aside = {**lease, "usage": {"tokens": 50}, "key": "r"}
    set_aside = await anyone.post("/v1/executions/e/usage/reserve", json=aside)
    assert set_aside.json() == {"status": "ok", "reserved": {"tokens": 50}}
    settled = await anyone.post(
        "/v1/executions/e/usage/settle", json={**aside, "usage": {"tokens": 5}}
    )
    assert settled.json()["status"] == "ok"
    spent = (await anyone.get("/v1/executions/e/usage")).json()
    assert spent == {"budgets": {"b": {"tokens": 15}}}
    stale = {**used, "lease": {**claimed["lease"], "epoch": 99}}
    lost = await anyone.post("/v1/executions/e/usage", json=stale)
    assert (lost.status_code, lost.json()["code"]) == (409, "stale_lease")
    other = await anyone.post("/v1/executions/e/usage", json={**used, "budget": "other"})
    assert (other.status_code, other.json()["code"]) == (404, "budget_not_found")


async def test_a_quota_holds_executions_back(anyone: httpx.AsyncClient) -> None:
    """Only so many run; raising it lets others go; unknown limits are 404."""
    created = await anyone.post("/v1/quotas", json={"id": "q", "max_concurrent": 1})
    assert created.status_code == 201
    assert (await anyone.post("/v1/quotas", json={"id": "z"})).status_code == 422
    for number in range(2):
        body = {"kind": "work", "id": f"e{number}", "quotas": ["q"]}
        assert (await anyone.post("/v1/executions", json=body)).status_code == 201
    claimed = await claim(anyone)
    assert len(claimed) <= 1
    while not claimed:
        claimed = await claim(anyone)
    found = (await anyone.get("/v1/quotas/q")).json()
    assert (found["running"], found["max_concurrent"]) == (1, 1)
    replaced = await anyone.put("/v1/quotas/q", json={"window_ms": 1000, "max_per_window": 5})
    assert (replaced.json()["max_concurrent"], replaced.json()["max_per_window"]) == (None, 5)
    for name in ("budgets", "quotas"):
        unknown = await anyone.post("/v1/executions", json={"kind": "work", name: ["nope"]})
        assert (unknown.status_code, unknown.json()["code"]) == (404, f"{name[:-1]}_not_found")
    assert (await anyone.delete("/v1/quotas/q")).status_code == 204
    assert (await anyone.get("/v1/quotas/q")).json()["code"] == "quota_not_found"


async def test_windows_of_submissions(anyone: httpx.AsyncClient) -> None:
    """The first of a throttle, and the last of a debounce, count."""
    window = {"key": "k", "ms": 60_000}
    answers = [
        (await anyone.post("/v1/executions", json={"kind": "work", kind: window})).json()
        for kind in ("throttle", "throttle", "debounce", "debounce")
    ]
    assert answers[0]["id"] == answers[1]["id"]
    assert answers[1]["duplicate"] is True
    assert answers[2]["state"] == "delayed"
    clash = {"kind": "work", "id": "x", "debounce": window}
    assert (await anyone.post("/v1/executions", json=clash)).status_code == 422


async def test_tenants_attach_their_own_limits_only(site: Site) -> None:
    """Another tenant's budgets and quotas look as if they were not there."""
    async with site.client(await site.key(tenant=OURS)) as ours:
        await make_budget(ours, id="b")
        await ours.post("/v1/quotas", json={"id": "q", "max_concurrent": 1})
    async with site.client(await site.key(tenant=THEIRS)) as theirs:
        for name, limit in (("budgets", "b"), ("quotas", "q")):
            body = {"kind": "work", name: [limit]}
            refused = await theirs.post("/v1/executions", json=body)
            assert (refused.status_code, refused.json()["code"]) == (404, f"{name[:-1]}_not_found")
            member = {"members": [{"key": "a", **body}]}
            refused = await theirs.post("/v1/graphs", json=member)
            assert (refused.status_code, refused.json()["code"]) == (404, f"{name[:-1]}_not_found")
            graph = (await theirs.post("/v1/graphs", json={"members": [MEMBER]})).json()
            grown = {"expected_revision": 1, **member}
            refused = await theirs.post(f"/v1/graphs/{graph['id']}/members", json=grown)
            assert (refused.status_code, refused.json()["code"]) == (404, f"{name[:-1]}_not_found")
            items = [{"kind": "work"}, body, {"kind": "work", "id": "last"}]
            batch = await theirs.post("/v1/executions:batch", json={"items": items})
            first, second, third = batch.json()["items"]
            assert ("id" in first, second["code"], third["id"]) == (
                *(True, f"{name[:-1]}_not_found"),
                "last",
            )
            assert (await theirs.get(f"/v1/{name}/{limit}")).status_code == 404
            assert (await theirs.get(f"/v1/{name}")).json()["items"] == []
        spending = {"members": [MEMBER], "budgets": ["b"]}
        assert (await theirs.post("/v1/graphs", json=spending)).status_code == 404
        child = {"limits": {}, "parent": "b"}
        assert (await theirs.post("/v1/budgets", json=child)).json()["code"] == "budget_not_found"
    async with site.client(await site.key(tenant=None)) as operator:
        everything = await operator.get("/v1/budgets", params={"tenant": "*"})
        assert [one["tenant"] for one in everything.json()["items"]] == [OURS]
        named = {"kind": "work", "tenant": THEIRS, "budgets": [f"{OURS}/b"]}
        assert (await operator.post("/v1/executions", json=named)).status_code == 201
