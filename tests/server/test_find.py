"""Finding things by their ids: every noun, and only what the caller may see."""

from __future__ import annotations

import pytest

from holdfast.client import Client
from holdfast.model.queues import QueueSettings
from tests.server.conftest import OURS, THEIRS, Site
from tests.server.samples import MAKERS

#: How to make one, and its page.
NOUNS = {
    "execution": ("id", "runs/{}"),
    "graph": ("graphs.id", "graphs/{}"),
    "waitpoint": ("waitpoint", "inbox?id={}"),
    "session": ("sessions.id", "sessions/{}"),
    "schedule": ("schedules.id", "schedules?id={}"),
    "queue": ("name", "queues/{}"),
    "budget": ("budgets.id", "limits?id={}"),
    "quota": ("quotas.id", "limits?id={}"),
    "worker": ("instance", "workers?id={}"),
    "key": ("key", "keys?id={}"),
}


@pytest.mark.parametrize("noun", NOUNS)
async def test_an_id_is_found_by_its_tenant_only(shared_site: Site, noun: str) -> None:
    """One call says what it is and which page shows it; other tenants find nothing."""
    maker, page = NOUNS[noun]
    thing = await MAKERS[maker](shared_site.engine, OURS)
    async with shared_site.client(await shared_site.key()) as ours:
        (found,) = (await ours.get("/v1/find", params={"id": f" {thing} "})).json()["items"]
    shown = thing.replace("~", "~")
    assert (found["noun"], found["id"], found["tenant"]) == (noun, shown, OURS)
    assert found["page"] == page.format(shown)
    async with shared_site.client(await shared_site.key(tenant=THEIRS)) as theirs:
        for named in (thing, f"{OURS}={thing}", f"{OURS}/{thing}"):
            assert (await theirs.get("/v1/find", params={"id": named})).json()["items"] == []
    async with shared_site.client(await shared_site.key(tenant=None)) as operator:
        query = {"id": thing, "tenant": OURS}
        (found,) = (await operator.get("/v1/find", params=query)).json()["items"]
        assert found["noun"] == noun


async def test_messages_and_requests_are_found(shared_site: Site) -> None:
    """A message by looking into queues; a request in the audit log, by admins."""
    engine = shared_site.engine
    await engine.queues.define(f"{OURS}/orders", QueueSettings())
    pushed = await engine.queues.push(f"{OURS}/orders", b"1")
    async with shared_site.client(await shared_site.key()) as ours:
        (found,) = (await ours.get("/v1/find", params={"id": pushed.id})).json()["items"]
        assert (found["noun"], found["page"], found["title"]) == (
            "message",
            "queues/orders",
            "orders",
        )
        request = (await ours.post("/v1/executions", json={"kind": "k"})).headers["x-request-id"]
        (found,) = (await ours.get("/v1/find", params={"id": request})).json()["items"]
        assert (found["noun"], found["title"]) == ("request", "POST /v1/executions")
    async with shared_site.client(await shared_site.key("viewer")) as viewer:
        assert (await viewer.get("/v1/find", params={"id": request})).json()["items"] == []


async def test_the_far_client_finds_the_same(shared_site: Site) -> None:
    """Near and far, for the same tenant."""
    made = await shared_site.engine.submit("mail.send", tenant=OURS)
    async with Client(shared_site.url, key=await shared_site.key()) as far:
        assert await far.operability.find(made.id) == await shared_site.engine.operability.find(
            made.id, tenant=OURS
        )
        assert await far.operability.find("nothing at all") == []
