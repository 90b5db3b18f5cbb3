"""Every list is read in pages, also those that the engine gives as a whole."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast.client import Client
from tests.server.conftest import Site
from tests.server.test_contract import claim, code_of, submit

LISTS = ("history", "attempts", "steps", "waitpoints")
#: More than a page has if nobody says how many.
MANY = 51


async def fill(client: httpx.AsyncClient) -> str:
    """Make an execution whose lists have several items, and one of them many."""
    one = await submit(client)
    path = f"/v1/executions/{one}"
    for n in range(5):
        lease = (await claim(client))["lease"]
        made = {"lease": lease, "waitpoints": [{"name": f"w{n}"}]}
        assert (await client.post(f"{path}/waitpoints", json=made)).status_code == 200
        assert (await client.post(f"{path}/revoke-lease")).status_code == 200
    lease = (await claim(client))["lease"]
    for n in range(MANY):
        await client.post(f"{path}/steps", json={"lease": lease, "name": f"s{n}", "result": n})
    return one


async def walk(client: httpx.AsyncClient, path: str, limit: int) -> list[dict[str, Any]]:
    """Read a list page by page; no page is longer than asked for, and only the last one shorter."""
    items: list[dict[str, Any]] = []
    query = {"limit": str(limit)}
    while True:
        page = (await client.get(path, params=query)).json()
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        assert len(page["items"]) == limit
        query["cursor"] = page["next_cursor"]


async def test_lists_of_an_execution_are_paged(site: Site, anyone: httpx.AsyncClient) -> None:
    """50 if nothing else is asked for; all of them one after the other; the client reads all."""
    one = await fill(anyone)
    for name in LISTS:
        path = f"/v1/executions/{one}/{name}"
        whole = (await anyone.get(path, params={"limit": "1000"})).json()
        assert whole["next_cursor"] is None
        assert (await anyone.get(path)).json()["items"] == whole["items"][:50]
        assert await walk(anyone, path, 4) == whole["items"]
    assert len(whole["items"]) == 5
    async with Client(site.url) as far:
        assert await far.history(one) == await site.engine.history(one)
        assert await far.attempts(one) == await site.engine.attempts(one)
        assert await far.steps(one) == await site.engine.steps(one)
        assert len(await far.steps(one)) == MANY


async def test_workers_and_lanes_are_paged_by_name(anyone: httpx.AsyncClient) -> None:
    """Whoever comes or goes between two pages moves no other."""
    for name in "cabd":
        body = {"worker": "pool", "lanes": [f"lane-{name}"], "capabilities": [], "slots": 1}
        await anyone.put(f"/v1/workers/{name}", json=body)
    workers = await walk(anyone, "/v1/workers", 2)
    assert [one["instance"] for one in workers] == ["a", "b", "c", "d"]
    lanes = await walk(anyone, "/v1/lanes", 3)
    assert [one["lane"] for one in lanes] == ["lane-a", "lane-b", "lane-c", "lane-d"]
    first = (await anyone.get("/v1/workers", params={"limit": "2"})).json()
    await anyone.delete("/v1/workers/a")
    rest = (await anyone.get("/v1/workers", params={"cursor": first["next_cursor"]})).json()
    assert [one["instance"] for one in rest["items"]] == ["c", "d"]


async def test_the_longest_names_are_listed_in_pages(anyone: httpx.AsyncClient) -> None:
    """A cursor may have a tenant and a name, or an id and a time: more than any of them."""
    whose, every = {"tenant": "t" * 128}, {"limit": "1", "tenant": "*"}
    name = "n" * 127
    job = {"kind": "job", **whose}
    for n in "12":
        queue = {"mode": "work"}
        await anyone.put(f"/v1/queues/{name}{n}", json=queue, params=whose)
        await anyone.post("/v1/budgets", json={"id": f"{name}{n}", "limits": {}, **whose})
        await anyone.post("/v1/quotas", json={"id": f"{name}{n}", "max_concurrent": 1, **whose})
        schedule = {"id": f"{name}{n}", "every_ms": 60_000, "execution": job}
        await anyone.post("/v1/schedules", json=schedule)
        one = await submit(anyone, id=f"{'i' * 255}{n}")
        lease = (await claim(anyone))["lease"]
        made = {"lease": lease, "waitpoints": [{"name": "w"}]}
        await anyone.post(f"/v1/executions/{one}/waitpoints", json=made)
    for noun in ("queues", "budgets", "quotas", "schedules", "waitpoints"):
        first = (await anyone.get(f"/v1/{noun}", params=every)).json()
        after = {**every, "cursor": first["next_cursor"]}
        rest = await anyone.get(f"/v1/{noun}", params=after)
        assert rest.status_code == 200, noun
        ids = [one.get("id", one.get("name"))[-4:] for one in first["items"] + rest.json()["items"]]
        assert len(set(ids)) == 2, noun


async def test_a_wrong_page_is_refused(anyone: httpx.AsyncClient) -> None:
    """Not clamped."""
    one = await submit(anyone)
    for name in LISTS:
        for query in ({"limit": "0"}, {"limit": "1001"}, {"cursor": "x"}):
            refused = await anyone.get(f"/v1/executions/{one}/{name}", params=query)
            assert code_of(refused) == (422, "invalid_input")


async def test_parents_and_children_are_linked_both_ways(anyone: httpx.AsyncClient) -> None:
    """A child names its parent, and the list of a parent's children has it."""
    for execution_id in ("p", "p~0.1", "p~0.2"):
        await submit(anyone, id=execution_id)
    child = (await anyone.get("/v1/executions/p~0.1")).json()
    assert child["parent"] == "p"
    listed = (await anyone.get("/v1/executions", params={"parent": "p"})).json()["items"]
    assert [(one["id"], one["parent"]) for one in listed] == [("p~0.2", "p"), ("p~0.1", "p")]
