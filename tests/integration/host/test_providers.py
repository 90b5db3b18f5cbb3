"""The providers of a loaded revision: gates, identities and calls from outside of flows."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.errors import (
    OperationDenied,
    ProviderFailed,
    ProviderNotFound,
    ProviderNotLoaded,
)
from holdfast.host.builder import HostBuilder
from holdfast.host.host import Host
from holdfast.host.identifying import Identity, Inbound, Match
from holdfast.host.packs import build, upload_of
from holdfast.model.packs import PackUpload
from holdfast.model.revisions import Lifecycle
from holdfast.testing.polling import wait_for
from tests.support.hosting import SHOP, reached, stage
from tests.support.packs import pack_of

PACK = """\
id: shop
version: 1.0.0
components:
  bots: {kind: python, source: components/bots.py, operations: [send, erase, identify, health]}
providers:
  - type: telegram
    component: bots
    operations: [send, health]
    identify: {headers: [X-Bot]}
  - {type: slack, component: bots, operations: [send]}
"""
CODE = """\
def send(input, host):
    if input == "bad":
        host.fail("no_such_chat", "there is no such chat")
    return {"sent": input, "key": host.call.idempotency_key, "tenant": host.call.tenant}

def erase(input, host):
    return "erased"

def identify(input, host):
    bots = input["headers"].get("x-bot")
    if input["body"] == "broken":
        raise RuntimeError(input["body"])
    return {"id": bots[0], "saw": sorted(input["headers"])} if bots else None

def health(input, host):
    return HEALTH
"""
FLOW = b"id: main\nnodes: {hi: {emit: {text: Hi.}}}\n"


def pack(health: str) -> PackUpload:
    """Return a pack whose provider says how it is."""
    files = {
        "pack.yaml": PACK.encode(),
        "flows/main.yaml": FLOW,
        "components/bots.py": CODE.replace("HEALTH", health).encode(),
    }
    return upload_of(build(pack_of(files)))


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock."""
    async with open_engine(real_url) as opened:
        yield opened


@contextlib.asynccontextmanager
async def hosting(engine: Engine) -> AsyncIterator[Host]:
    """Run a host that trusts all packs."""
    host = HostBuilder(engine).policy(trusted=True).work(lease_ms=5_000).build()
    async with host.running():
        yield host


async def test_a_provider_that_is_ill_keeps_its_revision_from_being_ready(
    engine: Engine,
) -> None:
    """The gate says which one and why; the next warm-up asks again."""
    async with hosting(engine) as host:
        await stage(engine, "ill", pack('{"ok": False, "reason": "the token was withdrawn"}'))
        ill = await reached(engine, "ill", Lifecycle.FAILED)
        assert [(gate.name, gate.passed, gate.reason) for gate in ill.gates] == [
            ("loads", True, ""),
            ("signatures", True, ""),
            (
                "providers",
                False,
                "the provider telegram is not healthy: the token was withdrawn",
            ),
        ]
        await stage(engine, "dead", pack('host.fail("gone", "nobody answers")'))
        dead = await reached(engine, "dead", Lifecycle.FAILED)
        assert dead.gates[2].reason == "the provider telegram failed: nobody answers"
        await engine.deployments.warm(SHOP, "ill")
        assert (await reached(engine, "ill", Lifecycle.FAILED)).version > ill.version
        await wait_for(lambda: _unloaded(host))


async def _unloaded(host: Host) -> bool:
    return host.loaded == ()


async def test_a_loaded_revision_identifies_and_sends(engine: Engine) -> None:
    """Each provider by what it declares; whatever is not declared does not run."""
    inbound = Inbound(headers=(("X-Bot", "b-7"), ("X-Other", "secret")), body=b"{}")
    async with hosting(engine) as host:
        assert await host.identify("a", inbound, []) == {}
        with pytest.raises(ProviderNotLoaded, match="a is not loaded"):
            await host.identify("a", inbound)
        await stage(engine, "a", pack('{"ok": True}'))
        ready = await reached(engine, "a", Lifecycle.READY)
        assert [gate.name for gate in ready.gates] == ["loads", "signatures", "providers"]
        assert await host.identify("a", inbound, ["telegram", "slack", "other"]) == {
            "telegram": Identity(Match.IDENTIFIED, "b-7"),
            "slack": Identity(Match.UNSUPPORTED),
            "other": Identity(Match.UNSUPPORTED),
        }
        assert (await host.identify("a", Inbound()))["telegram"] == Identity(Match.NO_MATCH)
        with pytest.raises(ProviderFailed, match="telegram failed"):
            await host.identify("a", Inbound(body=b"broken"))
        sent = await host.invoke_provider("a", "telegram", "send", {"text": "hi"}, key="m-1")
        assert sent == {"sent": {"text": "hi"}, "key": "m-1", "tenant": "default"}
        with pytest.raises(OperationDenied, match="does not declare the operation erase"):
            await host.invoke_provider("a", "telegram", "erase", {}, key="m-2")
        with pytest.raises(ProviderNotFound):
            await host.invoke_provider("a", "viber", "send", {}, key="m-3")
        with pytest.raises(ProviderNotLoaded):
            await host.invoke_provider("b", "telegram", "send", {}, key="m-4")
        with pytest.raises(ProviderFailed) as failed:
            await host.invoke_provider("a", "slack", "send", "bad", key="m-5")
        assert failed.value.context["reason"] == "no_such_chat"
