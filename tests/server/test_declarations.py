"""Over HTTP, too, a task's declaration decides what a submission does not say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from holdfast.client import Client
from holdfast.engine import Engine
from holdfast.errors import InvalidInput
from holdfast.model import names
from tests.server.conftest import OURS, THEIRS, Site

ABOUT: dict[str, Any] = {
    "lane": "http",
    "input": {
        "type": "object",
        "properties": {"order": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "required": ["order"],
    },
    "options": {"priority": 7, "tags": {"team": "a"}, "retry": {"max_attempts": 3}},
}
GOOD = {"order": {"n": 1}}
BAD = {"order": {"n": "one"}}
BODY = {"kind": "reserve", "input": GOOD}


@pytest.fixture
async def ours(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """Calls with a key of a tenant whose worker has published a task."""
    async with site.client(await site.key("worker", "submitter")) as client:
        published = await client.post("/v1/tasks", json={"reserve": ABOUT})
        assert published.json() == {"published": 1}
        yield client


async def shape(engine: Engine, execution_id: str) -> tuple[str, int, dict[str, str]]:
    """Return some options of an execution."""
    row = await engine.describe(execution_id)
    tags = {name: value for name, value in row.tags.items() if name != "schedule"}
    return row.lane, row.priority, tags


DECLARED = ("http", 7, {"team": "a"})


async def test_every_way_to_submit_follows_the_declaration(
    ours: httpx.AsyncClient, engine: Engine
) -> None:
    """One, a batch, a graph, a schedule."""
    single = (await ours.post("/v1/executions", json=BODY)).json()
    batch = (await ours.post("/v1/executions:batch", json={"items": [BODY]})).json()["items"][0]
    members = [{"key": "a", **BODY}]
    graph = (await ours.post("/v1/graphs", json={"id": "g", "members": members})).json()
    more = {"expected_revision": 1, "members": [{"key": "b", **BODY}]}
    grown = (await ours.post("/v1/graphs/g/members", json=more)).json()
    plan = {"id": "s", "every_ms": 60_000, "execution": BODY}
    view = (await ours.post("/v1/schedules", json=plan)).json()
    assert view["execution"] == {**BODY, "tenant": OURS}
    fired = (await ours.post("/v1/schedules/s/trigger", json={})).json()
    for made in (
        single["id"],
        batch["id"],
        graph["members"]["a"],
        grown["members"]["b"],
        fired["id"],
    ):
        assert await shape(engine, names.stored_id(OURS, made)) == DECLARED


async def test_fields_that_are_sent_win(ours: httpx.AsyncClient, engine: Engine) -> None:
    """Null is a value, too."""
    said = {"lane": "default", "priority": 0, "tags": {}, "retry": None}
    made = (await ours.post("/v1/executions", json={**BODY, **said})).json()
    assert await shape(engine, made["id"]) == ("default", 0, {})


async def test_an_operator_submits_for_a_tenant(
    ours: httpx.AsyncClient, operator: httpx.AsyncClient, engine: Engine
) -> None:
    """With what that tenant's worker declares; for others it holds not."""
    del ours
    lanes = {}
    for tenant in (OURS, THEIRS):
        made = (await operator.post("/v1/executions", json={**BODY, "tenant": tenant})).json()
        lanes[tenant] = (await engine.describe(made["id"])).lane
    assert lanes == {OURS: "http", THEIRS: "default"}


async def test_tasks_are_listed_for_a_tenant(
    ours: httpx.AsyncClient, operator: httpx.AsyncClient, site: Site
) -> None:
    """As they hold for its submissions; nobody sees those of another."""
    await operator.post("/v1/tasks", json={"common": {}, "reserve": {"lane": "common"}})

    async def lanes(client: httpx.AsyncClient, **query: str) -> dict[str, Any]:
        items = (await client.get("/v1/tasks", params=query)).json()["items"]
        return {item["name"]: item.get("lane") for item in items}

    assert await lanes(ours) == {"common": None, "reserve": "http"}
    assert await lanes(operator, tenant=OURS) == {"common": None, "reserve": "http"}
    assert await lanes(operator) == {"common": None, "reserve": "common"}
    async with site.client(await site.key("viewer", tenant=THEIRS)) as theirs:
        assert await lanes(theirs) == {"common": None, "reserve": "common"}
        assert (await theirs.get("/v1/tasks", params={"tenant": OURS})).status_code == 403
    async with Client(site.url, key=await site.key(tenant=None)) as client:
        assert (await client.tasks.list(tenant=OURS))["reserve"]["lane"] == "http"


async def test_input_that_does_not_fit_is_refused_with_its_field(ours: httpx.AsyncClient) -> None:
    """Everywhere; in a batch only that item."""
    bad = {"kind": "reserve", "input": BAD}
    refused = await ours.post("/v1/executions", json=bad)
    assert refused.status_code == 422
    assert (refused.json()["code"], refused.json()["field"]) == ("invalid_input", "input.order.n")
    batch = (await ours.post("/v1/executions:batch", json={"items": [BODY, bad]})).json()["items"]
    assert [one.get("code") for one in batch] == [None, "invalid_input"]
    graph = await ours.post("/v1/graphs", json={"members": [{"key": "a", **bad}]})
    assert (graph.status_code, graph.json()["field"]) == (422, "members[a].input.order.n")
    plan = {"id": "s", "every_ms": 60_000, "execution": bad}
    assert (await ours.post("/v1/schedules", json=plan)).status_code == 422


async def test_the_check_can_be_left_out(ours: httpx.AsyncClient) -> None:
    """In the body or in the query."""
    bad = {"kind": "reserve", "input": BAD}
    assert (await ours.post("/v1/executions", json={**bad, "check": False})).status_code == 201
    for path, body in {
        "/v1/executions": bad,
        "/v1/executions:batch": {"items": [bad]},
        "/v1/graphs": {"id": "g", "members": [{"key": "a", **bad}]},
        "/v1/graphs/g/members": {"expected_revision": 1, "members": [{"key": "b", **bad}]},
        "/v1/schedules": {"id": "s", "every_ms": 60_000, "execution": bad},
    }.items():
        taken = await ours.post(path, params={"check": "false"}, json=body)
        assert taken.is_success, taken.text
        assert "invalid_input" not in taken.text
    change = {"execution": {**bad, "priority": 3}}
    assert (await ours.patch("/v1/schedules/s", json=change)).status_code == 422
    taken = await ours.patch("/v1/schedules/s", params={"check": "false"}, json=change)
    assert taken.status_code == 200


async def test_a_limit_of_another_tenant_cannot_be_declared(
    site: Site, operator: httpx.AsyncClient
) -> None:
    """It is as if there were none."""
    limits = {"tokens": {"hard": 10}}
    await operator.post("/v1/budgets", json={"id": "llm", "tenant": THEIRS, "limits": limits})
    async with site.client(await site.key("worker", "submitter")) as client:
        await client.post("/v1/tasks", json={"spend": {"options": {"budgets": ["llm"]}}})
        refused = await client.post("/v1/executions", json={"kind": "spend"})
        assert (refused.status_code, refused.json()["code"]) == (404, "budget_not_found")
        batch = {"items": [{"kind": "spend"}, {"kind": "other"}]}
        items = (await client.post("/v1/executions:batch", json=batch)).json()["items"]
        assert [one.get("code") for one in items] == ["budget_not_found", None]


async def test_a_far_client_sends_what_was_said_and_no_more(
    ours: httpx.AsyncClient, site: Site
) -> None:
    """The server fills in the rest; what the SDK declares itself is all said."""
    del ours
    async with Client(site.url, key=await site.key("submitter")) as client:
        made = await client.submit("reserve", input=b'{"order": {}}')
        assert await shape(site.engine, made.id) == DECLARED
        made = await client.submit("reserve", input=b'{"order": {}}', lane="default", priority=0)
        assert await shape(site.engine, made.id) == ("default", 0, {"team": "a"})
        with pytest.raises(InvalidInput, match=r"input\.order"):
            await client.submit("reserve")
        assert (await client.submit("reserve", check=False)).id
