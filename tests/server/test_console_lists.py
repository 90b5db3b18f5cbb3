"""Lists for consoles: several states, oldest first, totals, reasons, causes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from holdfast.client.client import Client
from holdfast.model.executions import Failure
from holdfast.model.listing import Filter, Total
from holdfast.model.states import State
from tests.server.conftest import Site


async def fail(site: Site, kind: str, error_type: str, tenant: str = "default") -> str:
    """Have an execution fail for good; returns its id."""
    made = await site.engine.submit(kind, tenant=tenant, lane="failing")
    async with site.engine.claimer(worker="w", lanes=["failing"]) as claimer:
        (claim,) = await claimer.claim(1, 60_000)
    failure = Failure(type=error_type, message="a secret", retryable=False, details={"node": "pay"})
    await site.engine.fail(claim.id, claim.lease, failure)
    return made.id


async def listed(client: httpx.AsyncClient, **params: Any) -> dict[str, Any]:
    """Return a page."""
    response = await client.get("/v1/executions", params=params)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_a_list_says_how_many_match_and_why_each_waits(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """Ended executions need no reason, and of an error only what it is and where."""
    failed = await fail(site, "mail.send", "Timeout")
    waiting = (await site.engine.submit("mail.read")).id
    later = (await site.engine.submit("mail.read", delay_ms=60_000)).id
    page = await listed(anyone, kind_prefix="mail.", total="true", why="true", order="oldest")
    assert [item["id"] for item in page["items"]] == [failed, waiting, later]
    assert page["total"] == {"count": 3, "exact": True, "text": "3"}
    ended, ready, delayed = page["items"]
    assert "why" not in ended
    assert ended["error"] == {"type": "Timeout", "place": "pay"}
    assert ready["why"] == (await site.engine.explain(waiting)).why
    assert delayed["why"].startswith("It was submitted to start later: at ")
    several = await listed(anyone, state="failed,delayed")
    assert {item["id"] for item in several["items"]} == {failed, later}
    assert (await listed(anyone, error_type="Timeout"))["items"][0]["id"] == failed
    assert "total" not in several
    assert "why" not in several["items"][0]


@pytest.mark.parametrize(
    "params",
    [
        {"state": "failed,odd"},
        {"state": ""},
        {"order": "random"},
        {"text": ""},
        {"kind_prefix": " "},
    ],
)
async def test_odd_filters_are_refused(anyone: httpx.AsyncClient, params: dict[str, str]) -> None:
    """With the field that is wrong."""
    response = await anyone.get("/v1/executions", params=params)
    assert (response.status_code, response.json()["field"]) == (422, *params)


async def test_near_and_far_list_the_same(site: Site, anyone: httpx.AsyncClient) -> None:
    """Filters, totals, reasons and causes; ids are those of the caller's tenant."""
    failed = await fail(site, "pay", "Declined", tenant="acme")
    await site.engine.submit("pay", tenant="acme", id="order-17", tags={"who": "Ann"})
    engine = site.engine
    async with Client(site.url) as client:
        for wanted in (
            Filter(states=(State.FAILED, State.WAITING), oldest=True),
            Filter(error_type="Declined"),
            Filter(text="ann"),
            Filter(tenant="acme", id_prefix="acme=order-"),
        ):
            near = await engine.list(wanted, total=True, whys=True)
            far = await client.list(wanted, total=True, whys=True)
            assert far == near
            assert near.total == Total(count=len(near.items), exact=True)
        assert len(near.items) == 1
        assert await client.executions.causes() == await engine.executions.causes()
    (cause,) = (await anyone.get("/v1/executions:causes", params={"tenant": "acme"})).json()[
        "items"
    ]
    assert (cause["kind"], cause["error_type"], cause["place"]) == ("pay", "Declined", "pay")
    assert (cause["count"], cause["example"]) == (1, failed)
    async with site.client(await site.key(tenant="acme")) as ours:
        page = await listed(ours, id_prefix="order-", why="true")
        assert [item["id"] for item in page["items"]] == ["order-17"]
        assert "no live worker" in page["items"][0]["why"]
        # A minted id, too, although it is stored without the tenant.
        page = await listed(ours, id_prefix=failed[:5])
        assert [item["id"] for item in page["items"]] == [failed]
        (own,) = (await ours.get("/v1/executions:causes")).json()["items"]
        assert own["example"] == failed.removeprefix("acme=")
    async with site.client(await site.key(tenant="other")) as other:
        assert (await other.get("/v1/executions:causes")).json()["items"] == []
