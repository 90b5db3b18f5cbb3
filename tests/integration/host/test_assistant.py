"""The example `assistant` on a real store, with its components and its model server."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

import pytest
from aiohttp import web

from holdfast import App
from holdfast.client import Client
from holdfast.engine import Engine
from holdfast.errors import InvalidPack, NotOverHttp
from holdfast.host.loading import declare_pack
from holdfast.host.opening import open_runners
from holdfast.host.packs import Bundle, bundle, load_folder
from holdfast.testing import Talk, TestApp, conversation
from holdfast.testing.servers import TestServer
from tests.support.packs import pack_of

FOLDER = Path(__file__).parents[3] / "examples" / "packs" / "assistant"
KEY = "sk-assistant-5ecret"


def _module() -> ModuleType:
    path = FOLDER / "assets" / "model_server.py"
    spec = importlib.util.spec_from_file_location("model_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.asynccontextmanager
async def _served() -> AsyncIterator[tuple[Bundle, int]]:
    """Serve the model at a free port; yields the pack with that port."""
    runner = web.AppRunner(_module().application(), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    files = dict(load_folder(FOLDER).files)
    files["pack.yaml"] = files["pack.yaml"].replace(b":8099/", b":%d/" % port)
    try:
        yield bundle(pack_of(files)), port
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def _talking(server: TestServer, tokens: int) -> AsyncIterator[Talk]:
    app = App()
    app.budget("assistant", tokens=tokens)
    async with _served() as (packs, port), TestApp(app, server=server) as test:
        permits = [f"127.0.0.1:{port}"]
        async with open_runners(packs, test.engine, allow_private=permits, trusted=True) as runners:
            kind = declare_pack(app, packs, runners).conversation()
            await test.engine.secrets.set("MODEL_KEY", KEY)
            async with conversation(app, kind, test=test, user="ann") as talk:
                yield talk


async def test_the_assistant_looks_things_up(single_server: TestServer) -> None:
    """Tools run in their sandbox, answers stream, and the budget pays."""
    async with _talking(single_server, 100_000) as talk:
        for question, answer in (
            ("Where is order a17?", "Order A17 is on its way."),
            ("And Z9?", "I do not find that."),
            ("Are you open on Sunday?", "On sunday we are closed."),
            ("Thanks", "That was question 4. Ask me about an order or our hours."),
        ):
            await talk.say(question)
            await talk.expect(answer)
        engine = talk.test.engine
        budget = await engine.budgets.get("assistant")
        assert budget.usage["calls"] == 7
        assert 0 < budget.usage["tokens"] < 10_000
        assert not any(budget.reserved.values())
        frames = (await engine.streams.read(str((await talk.session()).execution))).frames
        words = [frame.json()["text"] for frame in frames if frame.type == "reply"]
        assert words[:6] == ["Order ", "A17 ", "is ", "on ", "its ", "way."]
        transcript = repr(await talk.entries())
        assert KEY not in transcript + repr(frames)


async def test_a_budget_that_is_used_up_ends_the_conversation(single_server: TestServer) -> None:
    """The flow says so; nothing more is spent."""
    async with _talking(single_server, 900) as talk:
        await talk.say("Where is A17?")
        await talk.say("Where is A17?")
        *_, last = await talk.entries()
        assert b"come back tomorrow" in last.payload
        assert (await talk.test.engine.budgets.get("assistant")).usage["tokens"] <= 900


async def test_a_tenant_without_a_key_is_found_when_the_pack_is_loaded(engine: Engine) -> None:
    """The error names the model, the secret and the command that sets it."""
    packs = bundle(load_folder(FOLDER))
    await engine.secrets.set("MODEL_KEY", KEY, tenant="acme")
    async with open_runners(packs, engine, trusted=True, tenants=["acme"]):
        pass
    with pytest.raises(InvalidPack, match=r"small.*MODEL_KEY.*other.*holdfast secrets set"):
        async with open_runners(packs, engine, trusted=True, tenants=["acme", "other"]):
            pass


async def test_a_host_needs_the_store_itself() -> None:
    """Secrets do not travel over HTTP."""
    async with Client("http://127.0.0.1:1") as client:
        with pytest.raises(NotOverHttp):
            async with open_runners(bundle(load_folder(FOLDER)), client):
                pass
