"""Keys, the audit log, rules, settings, writer leases, the archive, feeds through the client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from holdfast.archive import Archiver, open_archive, set_archive
from holdfast.client import Client
from holdfast.engine import Engine
from holdfast.errors import (
    BudgetNotFound,
    ExecutionNotFound,
    Forbidden,
    Held,
    InvalidInput,
    InvalidRecord,
    KeyNotFound,
    NotTerminal,
    StaleLease,
    Unauthorized,
    VersionConflict,
    WorkerNotFound,
)
from holdfast.fencing import LeaseState, Token, WriterLease, paths
from holdfast.fencing.contend import contend
from holdfast.fencing.in_store import StoreObjects
from holdfast.model.api_keys import Role
from holdfast.model.feeds import Gap
from holdfast.model.frames import StreamSettings
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, THEIRS, Site
from tests.support.archives import end_retention, live
from tests.support.leases import ask

KEY = "reports/main"


@pytest.fixture
async def operator(site: Site) -> AsyncIterator[Client]:
    """A client that may do everything for every tenant."""
    async with Client(site.url, key=await site.key(tenant=None)) as client:
        yield client


@pytest.fixture
async def ours(site: Site) -> AsyncIterator[Client]:
    """A client of one tenant's admin."""
    async with Client(site.url, key=await site.key(tenant=OURS)) as client:
        yield client


async def test_lanes_of_a_tenant(operator: Client, ours: Client, engine: Engine) -> None:
    """An operator may count those of one tenant; a tenant may not ask for another."""
    await engine.submit("work", lane="slow", tenant=OURS)
    await engine.submit("work", lane="slow", tenant=THEIRS)
    for tenant in (None, OURS, THEIRS):
        assert await operator.lanes.views(tenant=tenant) == await engine.lanes.views(tenant=tenant)
    assert await ours.lanes.views(tenant=OURS) == await engine.lanes.views(tenant=OURS)
    with pytest.raises(Forbidden):
        await ours.lanes.views(tenant=THEIRS)
    with pytest.raises(InvalidInput):
        await operator.lanes.views(tenant="*")


async def test_a_worker_of_another_tenant_stays(
    operator: Client, ours: Client, engine: Engine
) -> None:
    """An operator who names a tenant neither drains nor removes a worker of another."""
    await engine.workers.register("w1", worker="w", lanes=["slow"], tenant=THEIRS)
    with pytest.raises(WorkerNotFound):
        await operator.workers.drain("w1", tenant=OURS)
    await operator.workers.remove("w1", tenant=OURS)
    with pytest.raises(Forbidden):
        await ours.workers.drain("w1", tenant=THEIRS)
    with pytest.raises(Forbidden):
        await ours.workers.remove("w1", tenant=THEIRS)
    (worker,) = await engine.workers.list()
    assert not worker.draining
    await operator.workers.drain("w1", tenant=THEIRS)
    assert (await engine.workers.list())[0].draining
    await operator.workers.remove("w1", tenant=THEIRS)
    assert await engine.workers.list() == []


async def test_keys(operator: Client, ours: Client, engine: Engine, site: Site) -> None:
    """Made, used, listed and revoked; a tenant's admin makes and sees its own."""
    key, secret = await ours.api_keys.create(roles=["viewer"], name="web", ttl_ms=60_000)
    assert (key.tenant, key.roles, key.name) == (OURS, frozenset({Role.VIEWER}), "web")
    (near,) = [one for one in await engine.api_keys.list(tenant=OURS) if one.id == key.id]
    assert asdict(key) | {"digest": ""} == asdict(near) | {"digest": ""}
    again, _ = await ours.api_keys.create(roles=["viewer"], name="web", secret=secret)
    assert again.id == key.id
    async with Client(site.url, key=secret) as viewer:
        assert (await viewer.list()).items == ()
        with pytest.raises(Forbidden):
            await viewer.api_keys.list()
        await operator.api_keys.create(roles=["admin"], tenant=THEIRS)
        assert {one.tenant for one in await ours.api_keys.list()} == {OURS}
        assert {one.tenant for one in await operator.api_keys.list()} == {None, OURS, THEIRS}
        assert {one.tenant for one in await operator.api_keys.list(tenant=THEIRS)} == {THEIRS}
        with pytest.raises(KeyNotFound):
            await operator.api_keys.revoke(key.id, tenant=THEIRS)
        await ours.api_keys.revoke(key.id)
        await ours.api_keys.revoke(key.id)
        with pytest.raises(Unauthorized):
            await viewer.list()
    with pytest.raises(InvalidInput):
        await ours.api_keys.create(roles=["cook"])


async def test_the_audit_log(operator: Client, ours: Client, engine: Engine) -> None:
    """The same entries as near, in pages; a tenant's admin sees its own."""
    submitted = await ours.submit("k")
    await ours.cancel(submitted.id)
    await operator.lanes.pause("default")
    entries, cursor = await operator.audit.list(limit=2)
    rest, end = await operator.audit.list(limit=2, cursor=cursor)
    assert [*entries, *rest] == (await engine.audit.list())[0]
    assert end is None
    own, _ = await ours.audit.list(since=entries[-1].at)
    assert {entry.tenant for entry in own} == {OURS}
    assert {"id": submitted.id} in [entry.target for entry in own]
    assert len((await operator.audit.list(tenant=OURS))[0]) == 2


async def test_rules(operator: Client, ours: Client, engine: Engine) -> None:
    """Attached, listed and taken back by kind of limit; they are about all tenants."""
    await operator.quotas.create("q", max_concurrent=1)
    await operator.budgets.create("b", limits={"tokens": {"hard": 10}})
    rule = await operator.quotas.rules.attach("q", tag="customer")
    await operator.budgets.rules.attach("b", kind="mail.send")
    assert await operator.quotas.rules.list() == [rule] == await engine.quotas.rules.list()
    assert await operator.budgets.rules.list() == await engine.budgets.rules.list()
    made = await ours.submit("mail.send")
    assert (await ours.describe(made.id)).budgets == ("default/b",)
    await operator.quotas.rules.detach("q", tag="customer")
    assert await engine.quotas.rules.list() == []
    with pytest.raises(BudgetNotFound):
        await operator.budgets.rules.attach("none", lane="default")
    with pytest.raises(InvalidInput):
        await operator.budgets.rules.attach("b", tag="customer")
    with pytest.raises(Forbidden):
        await ours.quotas.rules.list()


async def test_totals(operator: Client, ours: Client) -> None:
    """What all budgets of a tenant were charged."""
    for name in ("a", "b"):
        await ours.budgets.create(name, limits={})
        await ours.budgets.report(name, {"tokens": 2})
    assert await ours.budgets.total(OURS) == {"tokens": 4}
    assert await operator.budgets.total(OURS) == {"tokens": 4}
    with pytest.raises(Forbidden):
        await ours.budgets.total(THEIRS)


async def test_the_pulse(operator: Client, ours: Client, engine: Engine, clock: Clock) -> None:
    """Figures of the whole store, so not for tenants."""
    await ours.submit("k", lane="slow")
    await clock.advance(1_500)
    found = await operator.pulse()
    assert found == await engine.pulse()
    assert found.waiting_s == {"slow": 1.5}
    with pytest.raises(Forbidden):
        await ours.pulse()


async def test_settings(operator: Client, ours: Client, engine: Engine) -> None:
    """Of retention and streams, for all and for one tenant; None goes back to the default."""
    await operator.lanes.set_retention({"completed": 1_000, "failed": 2_000})
    await operator.lanes.set_retention({"failed": 5}, tenant=OURS)
    await operator.lanes.set_retention({"failed": None})
    kept = {None: {"completed": 1_000}, OURS: {"failed": 5}}
    assert await operator.lanes.retention() == kept == await engine.lanes.retention()
    await operator.streams.set_bounds(frames=100, size=1 << 20, age_ms=60_000)
    await operator.streams.set_bounds(tenant=OURS, frames=5)
    await operator.streams.set_tails(7, tenant=THEIRS)
    settings = {
        None: StreamSettings(frames=100, size=1 << 20, age_ms=60_000),
        OURS: StreamSettings(frames=5),
        THEIRS: StreamSettings(tails=7),
    }
    assert await operator.streams.settings() == settings == await engine.streams.settings()
    await operator.streams.set_bounds()
    await operator.streams.set_tails(None, tenant=THEIRS)
    assert set(await operator.streams.settings()) == {OURS}
    with pytest.raises(Forbidden):
        await ours.streams.set_bounds(frames=5)
    with pytest.raises(InvalidInput):
        await operator.lanes.set_retention({"waiting": 1})


async def test_writer_leases(operator: Client, ours: Client, site: Site) -> None:
    """Taken, refreshed, handed over, given up, repaired, with the answers of those near."""
    leases = ours.writer_leases
    assert await leases.read(KEY) is None
    grant = await leases.acquire(KEY, ask("a", ttl_ms=30_000, margin_ms=7_000))
    stored = await site.engine.writer_leases.read(f"tenants/{OURS}/{KEY}")
    assert stored is not None
    assert (stored.record.ttl_ms, stored.record.margin_ms) == (30_000, 7_000)
    assert grant.token == stored.record.token == Token(1, 1)
    with pytest.raises(Held) as held:
        await contend(leases, KEY, ask("b"), wait_ms=200)
    assert held.value.context["holder"] == "a"
    longer = await leases.refresh(grant, 60_000)
    assert longer.deadline_ms > grant.deadline_ms + 20_000
    own = await leases.current(KEY, "a", "a-1", Token(1, 1))
    await leases.hand_over(own, "b")
    with pytest.raises(StaleLease):
        await leases.refresh(grant)
    second = await leases.acquire(KEY, ask("b"))
    await leases.release(second)
    found = await leases.read(KEY)
    assert found is not None
    assert found.record.released
    assert [past.ended for past in found.record.holders] == ["handed_over"]
    assert await operator.writer_leases.read(KEY) is None
    with pytest.raises(VersionConflict):
        await leases.repair(KEY, Token(2, 2))
    broken = paths.lease(f"tenants/{OURS}/broken")
    await StoreObjects(site.engine.store).put_if_absent(broken, b"no record")
    with pytest.raises(InvalidRecord):
        await leases.acquire("broken", ask())
    assert (await leases.repair("broken", Token(2, 2))).released
    assert (await leases.acquire("broken", ask())).token == Token(2, 3)
    with pytest.raises(InvalidInput):
        await leases.acquire(KEY, ask("b", margin_ms=501))


async def test_a_writer_lease_is_kept_alive_far_from_the_store(ours: Client) -> None:
    """As near: refreshed beside the work, in jeopardy without the server, lost to another."""
    async with WriterLease(ours.writer_leases, KEY, holder="a", ttl_ms=30_000) as lease:
        lease.check()
        await lease.refresh()
        other = WriterLease(ours.writer_leases, KEY, holder="b", term=2, preempt=True)
        await other.acquire()
        with pytest.raises(Exception, match="fenced"):
            await lease.refresh()
        assert lease.state is LeaseState.LOST
    await other.hand_over("a")
    async with WriterLease(ours.writer_leases, KEY, holder="a", ttl_ms=30_000) as lease:
        assert str(lease.token) == "2.3"


async def test_a_lease_whose_key_was_revoked_is_lost(site: Site) -> None:
    """The server refuses to refresh it, for good; its holder learns it."""
    key, secret = await site.engine.api_keys.create(roles=["worker"], tenant=OURS)
    async with Client(site.url, key=secret) as client:
        lease = WriterLease(client.writer_leases, KEY, holder="a", ttl_ms=1_200)
        await lease.acquire()
        async with Client(site.url, key=await site.key()) as admin:
            await admin.api_keys.revoke(key.id)
        async with asyncio.timeout(10):
            await lease.wait_ended()
        assert lease.state is LeaseState.LOST
        with pytest.raises(StaleLease):
            lease.check()


async def test_the_archive(
    operator: Client, ours: Client, site: Site, clock: Clock, tmp_path: Path
) -> None:
    """Everything of an archived execution, as the reader near the store has it."""
    store = site.engine.store
    assert (await operator.archive.survey()).archive is None
    with pytest.raises(ExecutionNotFound):
        await operator.archive.get("x")
    await set_archive(store, str(tmp_path))
    tenants = {number: OURS if number % 2 else THEIRS for number in range(6)}
    ids = [await live(store, clock, n, tenant=tenant) for n, tenant in tenants.items()]
    in_store = await ours.export(ids[1])
    assert in_store == await site.engine.export(ids[1])
    await end_retention(store, clock)
    assert (await operator.archive.survey()).waiting == 6
    near = await open_archive(store)
    await Archiver(store, near.objects).run_once()
    for one in ids:
        assert await operator.archive.get(one) == await near.get(one)
    assert (await ours.archive.get(ids[1])).history() == in_store.history()
    assert await ours.archive.owner(ids[1]) == OURS
    with pytest.raises(ExecutionNotFound):
        await ours.archive.get(ids[0])
    assert await operator.archive.status() == await near.status()
    completed = Filter(state=State.COMPLETED, tenant=THEIRS)
    assert await operator.archive.page(completed) == await near.page(completed)
    assert [row.id async for row in ours.archive.rows()] == ids[5::-2]
    assert len((await operator.archive.page(limit=4)).items) == 4


async def test_only_what_has_ended_is_exported(ours: Client) -> None:
    """A copy of what still changes would be of no use."""
    made = await ours.submit("k")
    with pytest.raises(NotTerminal):
        await ours.export(made.id)


async def take(events: AsyncIterator[Any], count: int) -> list[Any]:
    async with asyncio.timeout(15):
        return [await anext(events) for _ in range(count)]


async def test_changes_of_one_execution(ours: Client, engine: Engine) -> None:
    """The same, near and far, from the beginning and from a position on."""
    made = await ours.submit("k")
    far = ours.changes.follow(made.id)
    (first,) = await take(far, 1)
    assert first.state == "waiting"
    await ours.cancel(made.id, "enough")
    (last,) = await take(far, 1)
    assert (last.state, last.event.event) == ("cancelled", "cancelled")
    assert [one async for one in far] == []
    whole = [one async for one in engine.changes.follow(made.id)]
    assert [one async for one in ours.changes.follow(made.id)] == whole
    later = [one async for one in ours.changes.follow(made.id, first.position)]
    assert later == whole[1:]
    with pytest.raises(ExecutionNotFound):
        await take(ours.changes.follow("none"), 1)


async def test_a_feed_goes_on_at_the_next_server(engine: Engine) -> None:
    """After its connection was lost: from its position, or with a gap if it had none."""
    near = engine.feeds.follow("default")
    assert await take(near, 1) == [None]
    async with contextlib.AsyncExitStack() as stack:
        async with serving(engine, ServerSettings(port=0)) as (_, url):
            client = await stack.enter_async_context(Client(url))
            far, empty = client.feeds.follow("default"), client.feeds.follow("nobody")
            assert await take(far, 1) == await take(empty, 1) == [None]
            await engine.submit("k", id="one")
            assert await take(far, 1) == await take(near, 1)
            going_on = [asyncio.ensure_future(take(feed, 1)) for feed in (far, empty)]
        await engine.cancel("one")
        port = int(url.rpartition(":")[2])
        await stack.enter_async_context(serving(engine, ServerSettings(port=port)))
        changes, (gap,) = await asyncio.gather(*going_on)
        assert changes == await take(near, 1)
        assert isinstance(gap, Gap)
        for feed in (far, empty, near):
            await feed.aclose()  # type: ignore[attr-defined]
