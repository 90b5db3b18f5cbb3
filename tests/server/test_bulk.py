"""Bulk actions over HTTP: who may, whose executions, and the far client."""

from __future__ import annotations

import httpx
import pytest

from holdfast.client import Client
from holdfast.engine.bulk_runner import BulkRunner
from holdfast.errors import AlreadyTerminal, BulkNotFound, Forbidden, SelectionChanged
from holdfast.model.bulk import KIND, LANE, BulkAction, NewBulk
from holdfast.model.listing import Filter
from holdfast.model.states import State
from tests.server.conftest import OURS, THEIRS, Site

WAITING = {"state": "waiting", "kind": "mail.send"}


async def _run(site: Site) -> None:
    """Carry the bulk action out that is waiting."""
    engine = site.engine
    runner = BulkRunner(engine.store, engine.executions, engine.courier)
    async with engine.claimer(worker="b", lanes=(LANE,), kinds=(KIND,)) as claimer:
        (claim,) = await claimer.claim(1, 60_000, 10_000)
    await runner.carry_out(claim)


async def test_a_tenant_acts_on_its_own_executions_only(site: Site) -> None:
    """The dry run counts them, and the reply of the start names the execution."""
    engine = site.engine
    for tenant in (OURS, OURS, THEIRS):
        await engine.submit("mail.send", tenant=tenant, id=f"mail-{tenant}-{len(tenant)}")
        await engine.submit("mail.send", tenant=tenant)
    async with site.client(await site.key()) as ours:
        asked = {"action": "cancel", "filter": WAITING, "dry_run": True}
        counted = await ours.post("/v1/bulk", json=asked)
        assert counted.status_code == 200
        assert (counted.json()["count"], counted.json()["execution"]) == (3, None)
        assert {one["tenant"] for one in counted.json()["sample"]} == {OURS}
        refused = await ours.post("/v1/bulk", json={**asked, "tenant": THEIRS})
        assert refused.status_code == 403
        count = {"expected": 3, "rate": 1000, "dry_run": False}
        started = await ours.post("/v1/bulk", json={**asked, **count})
        assert started.status_code == 201
        await _run(site)
        bulk = (await ours.get(f"/v1/bulk/{started.json()['execution']}")).json()
        assert (bulk["state"], bulk["done"], bulk["pct"]) == ("completed", 3, 100.0)
        assert bulk["filter"] == {"state": "waiting", "kind": "mail.send"}
        listed = (await ours.get("/v1/bulk")).json()["items"]
        assert [one["id"] for one in listed] == [bulk["id"]]
    counts = await engine.count(THEIRS)
    assert {(one.state, one.count) for one in counts} == {(State.WAITING, 2)}
    async with site.client(await site.key(tenant=THEIRS)) as theirs:
        assert (await theirs.get(f"/v1/bulk/{bulk['id']}")).json()["code"] == "bulk_not_found"
        assert (await theirs.get("/v1/bulk")).json()["items"] == []


@pytest.mark.parametrize("role", ["viewer", "submitter", "worker"])
async def test_only_operators_may(site: Site, role: str) -> None:
    """Neither start one, nor by the kind of its execution."""
    await site.engine.submit("mail.send", tenant=OURS)
    body = {"action": "cancel", "filter": WAITING}
    async with site.client(await site.key(role)) as client:
        assert (await client.post("/v1/bulk", json=body)).json()["code"] == Forbidden.code


async def test_the_far_client_does_the_same(site: Site) -> None:
    """Preview, start, get, list and abort, of the client's tenant."""
    await site.engine.submit("mail.send", tenant=OURS, tags={"batch": "7"})
    wanted = Filter(tag=("batch", "7"), since=None)
    new = NewBulk(action=BulkAction.CANCEL, wanted=wanted, reason="why", rate=1000)
    async with Client(site.url, key=await site.key()) as far:
        assert (await far.bulk.preview(new)).total.count == 1
        started = await far.bulk.start(new)
        assert (started.state, started.reason, started.by != "") == (State.WAITING, "why", True)
        assert started.wanted.tag == ("batch", "7")
        assert await far.bulk.list() == [started]
        assert (await far.bulk.abort(new.id, reason="no")).state is State.CANCELLED
        with pytest.raises(BulkNotFound):
            await far.bulk.get("nothing")
        again = NewBulk(action=BulkAction.CANCEL, wanted=wanted, expected=1, rate=1000)
        await far.bulk.start(again)
        await _run(site)
        done = await far.bulk.get(again.id)
        near = await site.engine.bulk.get(again.id, tenant=OURS)
        assert (done.done, done.is_over) == (near.done, near.is_over) == (1, True)
        with pytest.raises(AlreadyTerminal):
            await far.bulk.abort(again.id)
        with pytest.raises(SelectionChanged) as refused:
            await far.bulk.start(NewBulk(action=BulkAction.CANCEL, wanted=wanted, expected=8))
        assert refused.value.context["count"] == 0


async def test_the_audit_log_names_who_started_it(site: Site, operator: httpx.AsyncClient) -> None:
    """A dry run changes nothing, so it is not in the log."""
    body = {"action": "cancel", "filter": {"lane": "nothing"}}
    dry = await operator.post("/v1/bulk", json={**body, "dry_run": True})
    wet = await operator.post("/v1/bulk", json=body)
    entries, _ = await site.engine.audit.list()
    requests = {one.request for one in entries}
    assert wet.headers["x-request-id"] in requests
    assert dry.headers["x-request-id"] not in requests
