"""Tenants on one host: what one of them does is bounded, and the others do not wait for it."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from holdfast.engine import Engine, open_engine
from holdfast.host.builder import HostBuilder
from holdfast.host.components import SandboxSettings
from holdfast.host.host import Host
from holdfast.host.packs import build, upload_of
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import DeploymentRef
from holdfast.model.packs import PackUpload
from holdfast.model.revisions import Lifecycle
from holdfast.testing.polling import wait_for
from tests.support.hosting import reached, shift, shop, stage
from tests.support.packs import pack_of

OURS = DeploymentRef(env="local", id="shop", tenant="ours")
THEIRS = DeploymentRef(env="local", id="shop", tenant="theirs")
SLOTS = 3
CALLS = 2


@dataclass(slots=True)
class Remote:
    """The server of a component that answers when it is let go."""

    port: int = 0
    held: int = 0
    most: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, _: web.Request) -> web.Response:
        """Answer late."""
        self.held += 1
        self.most = max(self.most, self.held)
        await self.released.wait()
        self.held -= 1
        return web.json_response("done")


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    """A slow server."""
    remote, app = Remote(), web.Application()
    app.router.add_post("/", remote.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    remote.port = runner.addresses[0][1]
    yield remote
    await runner.cleanup()


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock."""
    async with open_engine(real_url) as opened:
        yield opened


@pytest.fixture
async def host(engine: Engine, remote: Remote) -> AsyncIterator[Host]:
    """A host with few slots for each revision, and fewer calls for each tenant."""
    builder = HostBuilder(engine).tenant("ours", "theirs").work(slots=SLOTS, lease_ms=5_000)
    builder.policy(
        sandbox=SandboxSettings(calls_per_tenant=CALLS), allow_private=[f"127.0.0.1:{remote.port}"]
    )
    async with builder.build().running() as running:
        yield running


def slow(port: int) -> PackUpload:
    """Return a pack whose turns wait for a server."""
    files = {
        "pack.yaml": (
            f"id: shop\nversion: 1.0.0\nhttp_allow: ['127.0.0.1:{port}']\n"
            "components:\n"
            f"  r: {{kind: http, source: 'http://127.0.0.1:{port}/', operations: [go]}}\n"
        ).encode(),
        "flows/main.yaml": (
            b"id: main\nnodes: {a: {call: {component: r, operation: go}, out: b},"
            b" b: {emit: {text: Done.}}}\n"
        ),
    }
    return upload_of(build(pack_of(files)))


async def serve(engine: Engine, ref: DeploymentRef, upload: PackUpload) -> None:
    """Ship a revision, named after its tenant."""
    name = f"{ref.tenant}-{ref.id}"
    await stage(engine, name, upload, ref)
    await reached(engine, name, Lifecycle.READY, ref)
    await shift(engine, name, ref)


def message(tenant: str, user: str) -> NewActivity:
    """A message of a user."""
    return NewActivity(tenant=tenant, conversation="c", user=user, payload=b'{"text":"hi"}')


async def test_a_tenant_that_fills_its_slots_holds_up_no_other(
    host: Host, engine: Engine, remote: Remote
) -> None:
    """Its turns wait for each other; its calls are fewer, on all its revisions; none is lost."""
    await serve(engine, OURS, shop("A"))
    for ref in (THEIRS, dataclasses.replace(THEIRS, id="second")):
        await serve(engine, ref, slow(remote.port))
    theirs = [
        asyncio.ensure_future(host.handle_activity(message("theirs", f"u{n}"), deployment=name))
        for n in range(2 * SLOTS)
        for name in ("shop", "second")
    ]
    await wait_for(lambda: _held(remote, CALLS))
    for user in ("ann", "ben"):
        answer = await host.handle_activity(message("ours", user), wait_ms=5_000)
        assert [reply.text for reply in answer.replies] == ["A: name?"]
    assert not any(one.done() for one in theirs)
    assert remote.most == CALLS
    remote.released.set()
    for answer in await asyncio.gather(*theirs):
        assert [reply.text for reply in answer.replies] == ["Done."]
    assert remote.most <= CALLS


async def test_a_quota_of_a_tenant_bounds_its_turns_on_all_hosts(
    host: Host, engine: Engine, remote: Remote
) -> None:
    """By a rule for the tenant; others do not notice."""
    await engine.quotas.create("turns", max_concurrent=1, tenant="theirs")
    await engine.quotas.rules.attach("theirs/turns", tenant="theirs")
    await serve(engine, OURS, shop("A"))
    await serve(engine, THEIRS, slow(remote.port))
    theirs = [
        asyncio.ensure_future(host.handle_activity(message("theirs", f"u{n}"))) for n in range(3)
    ]
    await wait_for(lambda: _one_of_three_runs(engine))
    answer = await host.handle_activity(message("ours", "ann"), wait_ms=5_000)
    assert [reply.text for reply in answer.replies] == ["A: name?"]
    remote.released.set()
    await asyncio.gather(*theirs)
    assert remote.most == 1


async def _one_of_three_runs(engine: Engine) -> bool:
    counts = {one.state.value: one.count for one in await engine.count("theirs")}
    return counts == {"active": 1, "rate_limited": 2}


async def _held(remote: Remote, count: int) -> bool:
    return remote.held == count
