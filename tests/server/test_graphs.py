"""Graphs over HTTP: submitted whole, grown, read, cancelled, replayed."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.server.conftest import OURS, THEIRS, Site
from tests.server.test_contract import claim, code_of


def member(key: str, **fields: Any) -> dict[str, Any]:
    return {"key": key, "kind": "k", **fields}


async def create(client: httpx.AsyncClient, *keys: str, **fields: Any) -> Any:
    body = {"members": [member(key) for key in keys], **fields}
    response = await client.post("/v1/graphs", json=body)
    assert response.status_code == 201, response.text
    return response.json()


async def finish(client: httpx.AsyncClient, result: Any = None) -> str:
    """Claim whatever is ready and complete it; returns its id."""
    got = await claim(client)
    one = str(got["execution"]["id"])
    body = {"lease": got["lease"], "result": result}
    assert (await client.post(f"/v1/executions/{one}/complete", json=body)).status_code == 200
    return one


async def test_a_graph_runs_in_its_order(anyone: httpx.AsyncClient) -> None:
    """Results are passed on by name; the graph completes with its last member."""
    edges = [{"from": "a", "to": "b", "input": "x"}]
    made = await create(anyone, "a", "b", edges=edges)
    assert made["revision"] == 1
    path = f"/v1/graphs/{made['id']}"
    seen = (await anyone.get(path)).json()
    assert (seen["state"], seen["completed_at"]) == ("running", None)
    assert {key: one["state"] for key, one in seen["members"].items()} == {
        "a": "waiting",
        "b": "waiting_children",
    }
    assert seen["members"]["a"]["id"] == made["members"]["a"]
    assert seen["edges"] == [{"from": "a", "to": "b", "on": "success", "input": "x"}]
    assert await finish(anyone, {"n": 1}) == made["members"]["a"]
    waiting = asyncio.ensure_future(anyone.get(path, params={"wait_ms": "20000"}))
    got = await claim(anyone)
    assert got["input"] == {"x": {"n": 1}}
    one = got["execution"]["id"]
    assert (await anyone.get(f"/v1/executions/{one}")).json()["graph"] == made["id"]
    listed = await anyone.get("/v1/executions", params={"graph": made["id"]})
    assert len(listed.json()["items"]) == 2
    await anyone.post(f"/v1/executions/{one}/complete", json={"lease": got["lease"]})
    async with asyncio.timeout(10):
        ended = (await waiting).json()
    assert ended["state"] == "completed"
    assert ended["completed_at"]


async def test_the_same_graph_is_created_once(anyone: httpx.AsyncClient) -> None:
    """By its key; with other content it is a conflict."""
    body = {"members": [member("a")], "idempotency_key": "g1"}
    first = await anyone.post("/v1/graphs", json=body)
    again = await anyone.post("/v1/graphs", json=body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {**first.json(), "duplicate": True}
    other = await anyone.post("/v1/graphs", json={**body, "members": [member("b")]})
    assert code_of(other) == (409, "idempotency_conflict")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"members": []}, "invalid_graph"),
        ({"members": [member("a"), member("a")]}, "invalid_graph"),
        ({"members": [member("a")], "edges": [{"from": "a", "to": "x"}]}, "invalid_graph"),
        ({"members": [member("a")], "joins": {"x": {"policy": "any"}}}, "invalid_graph"),
        ({"members": [member("a")], "joins": {"a": {"policy": "quorum"}}}, "invalid_graph"),
        (
            {
                "members": [member("a"), member("b", input=[1])],
                "edges": [{"from": "a", "to": "b", "input": "x"}],
            },
            "invalid_graph",
        ),
        ({"members": [member("a", tenant="else")]}, "invalid_graph"),
        ({"members": [member("a", id="x")]}, "invalid_input"),
        (
            {
                "members": [member("a"), member("b")],
                "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}],
            },
            "cycle_detected",
        ),
    ],
)
async def test_a_wrong_graph_is_refused(anyone: httpx.AsyncClient, body: Any, code: str) -> None:
    """As a whole."""
    assert code_of(await anyone.post("/v1/graphs", json=body)) == (422, code)
    assert (await anyone.get("/v1/graphs")).json()["items"] == []


async def test_a_graph_grows(anyone: httpx.AsyncClient) -> None:
    """At the version that the caller knows."""
    made = await create(anyone, "a", "b")
    path = f"/v1/graphs/{made['id']}"
    body = {
        "expected_revision": 1,
        "members": [member("c")],
        "edges": [{"from": "a", "to": "c"}],
    }
    grown = (await anyone.post(f"{path}/members", json=body)).json()
    assert (grown["revision"], list(grown["members"])) == (2, ["c"])
    stale = await anyone.post(f"{path}/members", json={**body, "members": [member("d")]})
    assert code_of(stale) == (409, "stale_graph_revision")
    assert stale.json()["revision"] == 2
    cycle = {"expected_revision": 2, "edges": [{"from": "c", "to": "a"}]}
    assert code_of(await anyone.post(f"{path}/edges", json=cycle)) == (409, "cycle_detected")
    edge = {"expected_revision": 2, "edges": [{"from": "b", "to": "c"}]}
    assert (await anyone.post(f"{path}/edges", json=edge)).json() == {"revision": 3}
    for _ in range(3):
        await finish(anyone)
    late = await anyone.post(f"{path}/members", json={**body, "expected_revision": 3})
    assert code_of(late) == (409, "graph_finished")


async def test_a_graph_is_cancelled_and_replayed(anyone: httpx.AsyncClient) -> None:
    """A cancel tells how many it ended; a replay runs what failed."""
    made = await create(anyone, "a", "b", edges=[{"from": "a", "to": "b"}])
    path = f"/v1/graphs/{made['id']}"
    assert code_of(await anyone.post(f"{path}/replay", json={})) == (409, "graph_not_finished")
    done = await anyone.post(f"{path}/cancel", json={"reason": "r", "wait": True})
    assert done.json() == {"state": "cancelled", "cancelled": 2}
    assert (await anyone.get(path)).json()["reason"] == "r"
    assert code_of(await anyone.post(f"{path}/cancel", json={})) == (409, "graph_finished")
    assert code_of(await anyone.get("/v1/graphs/nothing")) == (404, "graph_not_found")
    assert (await anyone.post(f"{path}/replay", json={})).json() == {"state": "running"}
    await finish(anyone)
    await finish(anyone)
    assert (await anyone.get(path)).json()["state"] == "completed"


@pytest.mark.parametrize(("policy", "cancelled"), [("cancel_pending", 1), ("leave", 0)])
async def test_a_cancel_waits_for_the_members_that_it_ends(
    anyone: httpx.AsyncClient, policy: str, cancelled: int
) -> None:
    """One that runs on keeps no caller waiting, and is not listed as failed."""
    made = await create(anyone, "a", "b", edges=[{"from": "a", "to": "b"}])
    await claim(anyone)
    body = {"policy": policy, "wait": True, "wait_ms": 60_000}
    async with asyncio.timeout(5):
        done = await anyone.post(f"/v1/graphs/{made['id']}/cancel", json=body)
    assert done.json() == {"state": "cancelled", "cancelled": cancelled}


async def test_graphs_are_listed_by_tenant_and_state(site: Site) -> None:
    """Newest first, in pages."""
    async with site.client(await site.key(tenant=OURS)) as ours:
        ids = [(await create(ours, "a"))["id"] for _ in range(3)]
        await ours.post(f"/v1/graphs/{ids[0]}/cancel", json={"wait": True})
        page = (await ours.get("/v1/graphs", params={"limit": "2"})).json()
        rest = (await ours.get("/v1/graphs", params={"cursor": page["next_cursor"]})).json()
        running = (await ours.get("/v1/graphs", params={"state": "running"})).json()
    assert [one["id"] for one in page["items"] + rest["items"]] == ids[::-1]
    assert [one["id"] for one in running["items"]] == ids[:0:-1]
    async with site.client(await site.key(tenant=THEIRS)) as theirs:
        assert (await theirs.get("/v1/graphs")).json()["items"] == []
