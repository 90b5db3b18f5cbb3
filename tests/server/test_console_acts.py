"""What consoles do to executions: resubmit with another input; and where a hold leads."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from holdfast.client.client import Client
from holdfast.errors import InvalidInput
from holdfast.model.executions import ExecutionId
from holdfast.model.ids import session_id
from holdfast.model.resubmissions import Resubmission
from tests.server.conftest import Site


async def test_a_copy_has_its_origin_and_the_new_input(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """Everything else is the same; big numbers keep their digits; a repeated id changes nothing."""
    fields = {"lane": "mail", "priority": 7, "requires": ["gpu"], "tags": {"order": "17"}}
    made = await site.engine.submit("mail.send", input=b'{"n": 9007199254740993}', **fields)
    body = b'{"input": {"n": 12345678901234567890}, "priority": 8, "id": "copy-1"}'
    first = await anyone.post(f"/v1/executions/{made.id}/resubmit", content=body)
    again = await anyone.post(f"/v1/executions/{made.id}/resubmit", content=body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == {"id": "copy-1", "state": "waiting", "origin": made.id}
    copy = (await anyone.get("/v1/executions/copy-1")).json()
    assert (copy["origin"], copy["lane"], copy["priority"]) == (made.id, "mail", 8)
    assert (copy["kind"], copy["requires"]) == ("mail.send", ["gpu"])
    assert copy["tags"] == {"order": "17", "resubmit_of": made.id}
    assert await site.engine.input("copy-1") == b'{"n": 12345678901234567890}'
    same = (await anyone.post(f"/v1/executions/{made.id}/resubmit", json={})).json()["id"]
    assert await site.engine.input(same) == b'{"n": 9007199254740993}'
    copies = await anyone.get("/v1/executions", params={"tag": f"resubmit_of:{made.id}"})
    assert {item["id"] for item in copies.json()["items"]} == {"copy-1", same}


async def test_a_copy_stays_in_its_tenant(site: Site) -> None:
    """Near and far alike; another tenant has nothing to copy."""
    made = await site.engine.submit("k", tenant="acme", id="acme=order-1", input=b"1")
    async with Client(site.url, key=await site.key(tenant="acme")) as client:
        far = await client.executions.resubmit("order-1", Resubmission(input=b"2"))
        copy = await client.describe(far.id)
        assert (copy.tenant, copy.tags["resubmit_of"]) == ("acme", "order-1")
    near = await site.engine.executions.resubmit(made.id)
    assert (await site.engine.describe(near.id)).tenant == "acme"
    async with site.client(await site.key(tenant="other")) as other:
        response = await other.post("/v1/executions/order-1/resubmit", json={})
        assert response.status_code == 404


async def test_executions_of_a_session_are_not_copied(site: Site) -> None:
    """Messages start them."""
    made = await site.engine.submit("talk")
    execution = await site.engine.describe(made.id)
    turn = replace(execution, id=ExecutionId(f"{session_id(b'key')}~1"))
    with pytest.raises(InvalidInput, match="belongs to a session"):
        Resubmission().fields(turn, b"null")


async def test_a_hold_leads_to_what_holds(site: Site, anyone: httpx.AsyncClient) -> None:
    """A lane, a worker, a quota: a noun and its id, near as well as far."""
    engine = site.engine
    await engine.quotas.create(quota_id="one", max_concurrent=1)
    first = await engine.submit("k", quotas=["one"])
    second = await engine.submit("k", quotas=["one"])

    async def target(execution_id: str) -> dict[str, str]:
        view = (await anyone.get(f"/v1/executions/{execution_id}/explain")).json()
        found: dict[str, str] = view["holds"][0]["target"]
        assert (await engine.explain(execution_id)).targets[0] == found
        async with Client(site.url) as client:
            assert await client.explain(execution_id) == await engine.explain(execution_id)
        return found

    assert await target(first.id) == {"noun": "lane", "id": "default"}
    async with engine.claimer(worker="w-7") as claimer:
        (claim,) = await claimer.claim(2, 60_000)
    assert await target(claim.id) == {"noun": "worker", "id": "w-7"}
    assert await target(second.id) == {"noun": "quota", "id": "one"}
