"""A host: it loads what its env serves, and nothing that goes wrong with one harms another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.host.builder import HostBuilder
from holdfast.host.host import Host
from holdfast.model.deployments import DeploymentRef
from holdfast.model.revisions import Lifecycle, revision_of
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, TurnAnswer
from holdfast.testing.polling import wait_for
from tests.support.hosting import SHOP, reached, shift, shop, stage


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock."""
    async with open_engine(real_url) as opened:
        yield opened


@contextlib.asynccontextmanager
async def hosting(engine: Engine, *tenants: str) -> AsyncIterator[Host]:
    """Run a host for tenants, or for all."""
    host = HostBuilder(engine).tenant(*tenants).work(lease_ms=5_000).build()
    async with host.running():
        yield host


async def say(engine: Engine, text: str, user: str, revision: str) -> TurnAnswer:
    """Send a message to the pack; a conversation starts on a revision."""
    key = SessionKey(conversation="main", user=user, endpoint="web")
    activity = Activity(key=key, payload=b'{"text": "%s"}' % text.encode())
    return await engine.sessions.send("shop:main", activity, revision=revision)


async def test_revisions_are_loaded_and_unloaded_as_their_lifecycle_says(engine: Engine) -> None:
    """Each conversation stays on its revision; a revision is unloaded when nothing needs it."""
    async with hosting(engine) as host:
        await stage(engine, "a", shop("A"))
        first = await reached(engine, "a", Lifecycle.READY)
        assert [(gate.name, gate.passed) for gate in first.gates] == [
            ("loads", True),
            ("signatures", True),
        ]
        await shift(engine, "a")
        assert (await say(engine, "hi", "ann", "a")).replies[0].text == "A: name?"
        await stage(engine, "b", shop("B"))
        await reached(engine, "b", Lifecycle.READY)
        await shift(engine, "b")
        assert (await say(engine, "hi", "ben", "b")).replies[0].text == "B: name?"
        draining = await engine.deployments.drain(SHOP, "a")
        assert (draining.lifecycle, draining.waiting) == (Lifecycle.DRAINING, 1)
        assert host.loaded == ("a", "b")
        assert (await say(engine, "Ann", "ann", "b")).replies[0].text == "A: bye Ann"
        await reached(engine, "a", Lifecycle.INACTIVE)
        await wait_for(lambda: _loaded(host, "b"))


async def _loaded(host: Host, *revisions: str) -> bool:
    return host.loaded == revisions


async def test_a_bad_pack_fails_its_own_revision_and_no_other(engine: Engine) -> None:
    """Its gates say why. It can be warmed up again."""
    broken = "id: main\nnodes: {{a: {{emit: {{text: '{{{{ input.nothing( }}}}'}}}}}}\n"
    async with hosting(engine) as host:
        await stage(engine, "bad", shop("A", flow=broken))
        await stage(engine, "good", shop("B"))
        bad = await reached(engine, "bad", Lifecycle.FAILED)
        assert [(gate.name, gate.passed) for gate in bad.gates] == [("loads", False)]
        assert bad.gates[0].reason
        await reached(engine, "good", Lifecycle.READY)
        await engine.deployments.warm(SHOP, "bad")
        again = await reached(engine, "bad", Lifecycle.FAILED)
        assert again.version > bad.version
        assert host.loaded == ("good",)


async def test_a_pack_that_spends_needs_its_budget(engine: Engine) -> None:
    """Otherwise no message could start its flow; the next warm-up looks again."""
    head = "secrets: [K]\nmodels: {small: {base_url: 'https://a.org', model: m, key_secret: K}}\n"
    flow = "id: main\nnodes: {{a: {{llm: {{model: small, max_tokens: 5, budget: team}}}}}}\n"
    async with hosting(engine):
        await stage(engine, "a", shop("A", head=head, flow=flow))
        failed = await reached(engine, "a", Lifecycle.FAILED)
        assert failed.gates[0].reason == (
            "the flow shop:main spends from the budget team, which the tenant lacks: "
            "`holdfast budgets create team`"
        )
        await engine.budgets.create("team", limits={"tokens": {"hard": 100}})
        await engine.deployments.warm(SHOP, "a")
        await reached(engine, "a", Lifecycle.READY)


async def test_a_pack_that_the_env_no_longer_trusts_does_not_load(engine: Engine) -> None:
    """The check of the staged revision is made again by the host."""
    await stage(engine, "a", shop("A"))
    await engine.envs.put("local", unsigned_packs=False)
    async with hosting(engine):
        failed = await reached(engine, "a", Lifecycle.FAILED)
    assert [(gate.name, gate.passed) for gate in failed.gates] == [("signatures", False)]


async def test_a_host_serves_its_tenants_and_requires_what_packs_require(engine: Engine) -> None:
    """Revisions that it cannot serve are left to other hosts."""
    other = DeploymentRef(env="local", id="shop", tenant="other")
    async with hosting(engine, "default") as host:
        await stage(engine, "theirs", shop("A"), other)
        await stage(engine, "heavy", shop("B", head="requires: [gpu]\n"))
        await stage(engine, "ours", shop("C"))
        await reached(engine, "ours", Lifecycle.READY)
        await reached(engine, "heavy", Lifecycle.WARMING)
        await reached(engine, "theirs", Lifecycle.WARMING, other)
        assert host.loaded == ("ours",)


async def test_a_host_that_starts_again_loads_what_is_ready(engine: Engine) -> None:
    """A conversation that waits continues there."""
    async with hosting(engine):
        await stage(engine, "a", shop("A"))
        await reached(engine, "a", Lifecycle.READY)
        await say(engine, "hi", "ann", "a")
    async with hosting(engine) as host:
        await wait_for(lambda: _loaded(host, "a"))
        assert (await say(engine, "Ann", "ann", "a")).replies[0].text == "A: bye Ann"


async def test_schedules_belong_to_the_revision_with_the_largest_weight(engine: Engine) -> None:
    """The next revision takes them over; one that it lacks ends, and a paused one stays paused."""
    plan = '{flow: nightly, cron: "0 3 * * *"}'
    async with hosting(engine):
        for revision, count in (("a", 2), ("b", 1)):
            plans = ", ".join([plan] * count)
            head = f"entry: main\nschedules: [{plans}]\n"
            await stage(engine, revision, shop(revision, head=head, job=True))
            await reached(engine, revision, Lifecycle.READY)
            assert await _owners(engine) == ({"a"} if revision == "b" else set())
            await shift(engine, revision)
            await wait_for(lambda owner=revision: _owned_by(engine, owner))  # type: ignore[misc]
            found = (await engine.schedules.list(tenant="default")).items
            assert [one.plan.execution.kind for one in found] == ["shop:nightly"] * count
            assert any(one.plan.paused for one in found) is (revision == "b")
            first = next(one.plan.id for one in found if one.plan.id.startswith("shop:nightly:0"))
            await engine.schedules.pause(first)
        assert (await engine.schedules.trigger(first)).id


async def _owners(engine: Engine) -> set[str | None]:
    page = await engine.schedules.list(tenant="default")
    return {revision_of(one.plan.execution.requires) for one in page.items}


async def _owned_by(engine: Engine, revision: str) -> bool:
    return await _owners(engine) == {revision}


async def test_a_host_that_stops_does_not_wait_for_a_pack_that_loads(engine: Engine) -> None:
    """The pack is loaded by the next host."""
    await stage(engine, "a", shop("A"))
    host = HostBuilder(engine).build()
    running = asyncio.ensure_future(host.run())
    await host.started.wait()
    host.drain()
    async with asyncio.timeout(5):
        await running
    assert host.loaded == ()
    async with hosting(engine):
        await reached(engine, "a", Lifecycle.READY)
