"""Queues, budgets, quotas and schedules through the client: what the engine does, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast import App
from holdfast.archive import set_archive
from holdfast.client import Client
from holdfast.client.http import Http
from holdfast.client.queues import RemoteQueues
from holdfast.engine import Engine
from holdfast.errors import (
    BudgetExceeded,
    DedupConflict,
    QueueNotFound,
    QuotaNotFound,
    ReadCancelled,
    ScheduleConflict,
    StaleDelivery,
    StoreUnavailable,
)
from holdfast.fencing import FolderObjects
from holdfast.model import names
from holdfast.model.effects import Push, Submit
from holdfast.model.executions import NewExecution
from holdfast.model.messages import LetterFilter, NewMessage, Start
from holdfast.model.queues import QueueSettings
from holdfast.model.quotas import Window
from holdfast.model.retry import RetryPolicy
from holdfast.model.schedules import NewSchedule
from holdfast.model.timing import Timing
from holdfast.testing.polling import wait_for
from holdfast.worker.context import Context
from tests.server.conftest import OURS, Site


@pytest.fixture(params=["default", OURS])
async def far(request: pytest.FixtureRequest, site: Site) -> AsyncIterator[Client]:
    """A client without a key, and one of a tenant."""
    key = None if request.param == "default" else await site.key(tenant=OURS)
    async with Client(site.url, key=key) as client:
        yield client


async def test_large_results_of_far_workers_leave_the_store(
    far: Client, engine: Engine, tmp_path: Path
) -> None:
    """The server offloads what a worker over HTTP returns, and every reader gets the bytes."""
    await set_archive(engine.store, f"file://{tmp_path}", offload_bytes=2_000)
    result = b'"' + b"x" * 5_000 + b'"'
    execution_id = (await far.submit("k")).id
    async with far.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000)
        await far.complete(claim.id, claim.lease, result)
    (entry,) = [entry async for entry in FolderObjects(tmp_path).list("payloads/")]
    assert entry.key.split("/")[1] == claim.tenant
    assert await far.result(execution_id) == result
    assert await engine.result(execution_id) == result


async def test_queues(far: Client, engine: Engine) -> None:
    """Every operation, with the values that the engine returns."""
    queues = far.queues
    settings = QueueSettings(max_attempts=2, dead_letter="dead", backoff=(0,), max_in_flight=10)
    assert await queues.define("mail", settings) is True
    assert await queues.define("mail", settings) is False
    assert (await queues.describe("mail")).settings == settings
    assert [one.name for one in await queues.list()] == ["dead", "mail"]
    assert [one.name for one in await queues.list(after="dead")] == ["mail"]
    assert (await queues.push("mail", b'{"n": 1.50}', key="k")).duplicate is False
    pushed = await queues.push_many(
        "mail", [NewMessage(payload=b"\xff"), NewMessage(payload=b"1", id="m")]
    )
    assert len(pushed) == 2
    with pytest.raises(DedupConflict):
        await queues.push("mail", b"2", id="m")
    assert [one.payload for one in await queues.peek("mail", count=5)][1] == b"\xff"
    first, second, third = await queues.read("mail", consumer="c", count=3)
    assert (first.message.payload, first.message.key) == (b'{"n": 1.50}', "k")
    assert len(await queues.pending("mail")) == 3
    (deadline,) = await queues.extend("mail", [(first.handle, 60_000)])
    assert isinstance(deadline, datetime)
    assert (await queues.ack("mail", first.handle)).repeated is False
    assert (await queues.ack("mail", first.handle)).repeated is True
    with pytest.raises(StaleDelivery):
        await queues.nack("mail", first.handle)
    await queues.reject("mail", second.handle, "no")
    await queues.define("log")
    message = NewMessage(payload=b'"done"')
    effects = (Submit(NewExecution(kind="work", id="made")), Push("log", message))
    assert (await queues.ack("mail", third.handle, *effects)).repeated is False
    assert (await far.describe("made")).kind == "work"
    tenant = (await far.describe("made")).tenant
    assert (await engine.describe(names.stored_id(tenant, "made"))).tenant == tenant
    stats = await queues.stats("mail")
    assert (stats.mode, stats.groups["default"].acked, stats.groups["default"].dead) == (
        *("work", 2),
        1,
    )
    (letter,) = await queues.peek("dead")
    assert letter.dead_letter is not None
    assert letter.dead_letter.origin == "mail"
    assert await queues.redrive("dead", wanted=LetterFilter(origin="mail")) == 1
    assert await queues.move("mail", "log", 10, dry_run=True) == 1
    await queues.pause("mail")
    assert (await queues.describe("mail")).paused is True
    await queues.resume("mail")
    (again,) = await queues.read("mail", consumer="c")
    claimed = await queues.claim("mail", consumer="d", min_idle_ms=0)
    assert [one.message.id for one in claimed.deliveries] == [again.message.id]
    assert await queues.purge("log") == 1
    await queues.delete("log")
    with pytest.raises(QueueNotFound):
        await queues.describe("log")


async def test_lanes(far: Client, engine: Engine) -> None:
    """With workers that serve every tenant, though the key does not see them."""
    await far.submit("work", lane="slow")
    await engine.submit("work", lane="theirs", tenant="theirs")
    await engine.lanes.pause("slow")
    await engine.lanes.set_weights("slow", {OURS: 2.5, "theirs": 3})
    await engine.workers.register("w1", worker="w", lanes=["slow"])
    found = await far.lanes.views()
    assert found == await engine.lanes.views(tenant=None if far._http.key is None else OURS)
    (slow,) = (one for one in found if one.lane == "slow")
    assert (slow.setting, slow.workers, slow.weights[OURS]) == ("paused", 1, 2.5)


async def test_groups(far: Client) -> None:
    """Each begins where it is told to."""
    await far.queues.define("news", mode="fanout")
    assert await far.queues.add_group("news", "a") is True
    pushed = await far.queues.push("news", b"1")
    assert await far.queues.add_group("news", "b", Start(place="after", after=pushed.id)) is True
    assert len(await far.queues.read("news", consumer="c", group="a")) == 1
    assert await far.queues.read("news", consumer="c", group="b") == []
    assert set((await far.queues.stats("news")).groups) == {"a", "b"}
    await far.queues.remove_group("news", "b")


async def test_a_read_that_waits(far: Client) -> None:
    """It gets what comes, and ends when it is told to; what it might have got is not lost."""
    await far.queues.define("mail")
    waiting = asyncio.ensure_future(far.queues.read("mail", consumer="c", wait_ms=30_000))
    await far.queues.push("mail", b"1")
    async with asyncio.timeout(10):
        (delivery,) = await waiting
    await far.queues.ack("mail", delivery.handle)
    draining = asyncio.Event()
    waiting = asyncio.ensure_future(
        far.queues.read("mail", consumer="c", wait_ms=30_000, stop=draining.is_set)
    )

    async def reading() -> bool:
        assert isinstance(far.queues, RemoteQueues)
        return bool(far.queues._reading)

    await wait_for(reading)
    draining.set()
    far.queues.wake("mail")
    async with asyncio.timeout(10):
        with pytest.raises(ReadCancelled):
            await waiting
    await far.queues.push("mail", b"2")
    async with asyncio.timeout(10):
        (delivery,) = await far.queues.read("mail", consumer="d", wait_ms=9_000)
    assert delivery.message.payload == b"2"


async def test_budgets_and_quotas(far: Client) -> None:
    """Created, charged, changed, listed."""
    budget, is_new = await far.budgets.create("b", limits={"tokens": {"hard": 10, "soft": 8}})
    assert is_new
    assert (await far.budgets.create("b", limits={"tokens": {"hard": 10, "soft": 8}}))[1] is False
    assert (await far.budgets.get("b")) == budget
    assert (await far.budgets.report("b", {"tokens": 9})).status == "soft_breach"
    assert (await far.budgets.reserve("b", {"tokens": 2}, key="k")).accepted is False
    changed = await far.budgets.set("b", {"tokens": {"hard": 20, "soft": None}})
    assert changed.limits["tokens"].hard == 20
    assert (await far.budgets.reserve("b", {"tokens": 2}, key="k")).reserved == {"tokens": 2}
    assert (await far.budgets.settle("b", {"tokens": 1}, key="k")).status == "ok"
    assert [one.kind for one in await far.budgets.breaches("b")] == ["soft", "hard"]
    assert ([one.id for one in (await far.budgets.list())[0]]) == ["b"]
    assert (await far.budgets.reset("b")).usage.get("tokens", 0) == 0
    quota, _ = await far.quotas.create(max_concurrent=1)
    assert (await far.quotas.get(quota.id)) == quota
    assert (await far.quotas.set(quota.id, max_concurrent=2)).max_concurrent == 2
    assert len((await far.quotas.list())[0]) == 1
    submitted = await far.submit("work", budgets=("b",), quotas=(quota.id,))
    throttled = await far.submit("work", throttle=Window("k", 60_000))
    assert (await far.submit("work", throttle=Window("k", 60_000))).id == throttled.id
    assert await far.budgets.spent(submitted.id) == {}
    await far.quotas.delete(quota.id)
    with pytest.raises(QuotaNotFound):
        await far.quotas.get(quota.id)


async def test_schedules(far: Client, engine: Engine) -> None:
    """They come back as they were made, and fire."""
    item = NewExecution(
        kind="work",
        tenant="default" if far._http.key is None else OURS,
        input=b'{"n": 1.50}',
        tags={"a": "b"},
        retry=RetryPolicy(max_attempts=3),
    )
    plan = NewSchedule(id="s", execution=item, timing=Timing(every_ms=5_000), jitter_ms=100)
    made, is_new = await far.schedules.create(plan)
    assert is_new
    assert made == await engine.schedules.get("s", tenant=item.tenant)
    assert made.plan == plan
    assert (await far.schedules.list()).items == (made,)
    other = NewSchedule(id="s", execution=item, timing=Timing(cron="0 6 * * *"))
    with pytest.raises(ScheduleConflict):
        await far.schedules.create(other)
    assert (await far.schedules.put(other)).plan == other
    assert (await far.schedules.pause("s")).next_at is None
    assert (await far.schedules.resume("s")).next_at is not None
    assert len(await far.schedules.next_times("s", 3)) == 3
    fired = await far.schedules.trigger("s", key="k")
    assert (await far.schedules.trigger("s", key="k")).id == fired.id
    assert await far.input(fired.id) == b'{"n": 1.50}'
    await far.schedules.delete("s")
    assert (await far.schedules.list()).items == ()


async def test_a_task_spends_and_consumes_over_http(site: Site) -> None:
    """`app.queue`, `ctx.budget` and `@app.schedule` of an app that has only a URL."""
    async with Client(site.url) as client:
        app = App().attach(client)
        mail = app.queue("mail", str)
        await mail.define()
        await mail.push("ann")

        @app.schedule(every=3600)
        @app.task
        async def spend(ctx: Context) -> str:
            async with ctx.budget.reserve(tokens=5) as reserved:
                reserved.settle(tokens=3)
            await ctx.budget.report(tokens=1)
            with pytest.raises(BudgetExceeded):
                await ctx.budget.report(tokens=100)
            (received,) = await mail.read(consumer=ctx.id)
            await received.ack()
            return received.value

        greeted: list[str] = []

        @app.consumer("names")
        async def greet(name: str) -> None:
            greeted.append(name)

        names = app.queue("names", str)
        await names.define()
        await names.push("bob")

        async def is_greeted() -> bool:
            return greeted == ["bob"]

        await client.budgets.create("b", limits={"tokens": {"hard": 10}})
        submitted = await client.submit("spend", input=b"{}", budgets=("b",))
        async with app.worker() as _worker, asyncio.timeout(20):
            outcome = await client.wait(submitted.id)
            await wait_for(is_greeted)
        assert outcome.result == b'"ann"'
        assert await client.budgets.spent(submitted.id) == {"b": {"tokens": 4}}
        assert [one.id for one in (await client.schedules.list()).items] == ["spend"]


@pytest.mark.parametrize("what", ["all", "one"])
async def test_a_renewal_that_fails_does_not_cost_a_claim_its_leases(
    far: Client, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """After a long poll leases are renewed before their use; if that fails, they may be alive."""
    post = Http.post

    async def fail(http: Http, where: str, body: object, **more: Any) -> Any:
        if where != "/v1/leases:renew":
            return await post(http, where, body, **more)
        renewals.append(where)
        if what == "all":
            raise StoreUnavailable("away")
        return {"items": [{"ok": False, "code": StoreUnavailable.code, "detail": "away"}]}

    async def submit() -> str:
        await asyncio.sleep(0.4)  # a third of the lease passes in the poll
        return (await far.submit("k")).id

    renewals: list[str] = []
    monkeypatch.setattr(Http, "post", fail)
    async with far.claimer(worker="w") as claimer:
        claims, execution_id = await asyncio.gather(claimer.claim(1, 1_000, 5_000), submit())
    assert [claim.id for claim in claims] == [execution_id]
    assert len(renewals) == 1
