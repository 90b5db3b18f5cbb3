"""An answer is lost on the way to a client, and the store fails before the call is repeated."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from random import Random

import httpx
import pytest

from holdfast.client import Client
from holdfast.engine import Engine
from holdfast.errors import IdConflict, OutcomeUnknown, StoreFull, StoreUnavailable
from holdfast.model.api_keys import Role
from holdfast.server.auth import identity
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.store.store import StoreSettings, open_store
from holdfast.testing.servers import TestServer, start_server
from tests.support.proxy import CuttingProxy, open_proxy


@pytest.fixture
def server() -> Iterator[TestServer]:
    """A server of one's own, to be spoiled."""
    with start_server() as started:
        yield started


@contextlib.asynccontextmanager
async def _served(server: TestServer) -> AsyncIterator[tuple[Engine, CuttingProxy]]:
    """Serve a store that is soon given up, behind a proxy."""
    url = f"valkey://127.0.0.1:{server.port}"
    async with open_store(url, StoreSettings(call_timeout_ms=50)) as store:
        engine = Engine(store)
        async with serving(engine, ServerSettings(port=0)) as (_, site):
            port = httpx.URL(site).port
            assert port is not None
            with open_proxy(port, Random(0)) as proxy:
                yield engine, proxy
        await engine.close()


def _fill(server: TestServer) -> None:
    with server.raw() as raw:
        raw.config_set("maxmemory", 1)


def _make_replica(server: TestServer) -> None:
    with server.raw() as raw:
        raw.replicaof("127.0.0.1", "1")


@pytest.mark.parametrize(
    ("spoil", "refusal"), [(_fill, StoreFull), (_make_replica, StoreUnavailable)]
)
async def test_a_call_that_happened_is_never_called_refused_over_http(
    server: TestServer,
    spoil: Callable[[TestServer], None],
    refusal: type[Exception],
) -> None:
    """Its answer was lost, and later tries got 503: nobody knows whether it happened."""
    async with _served(server) as (engine, proxy):
        url = f"http://127.0.0.1:{proxy.port}"
        async with Client(url, timeout_ms=1_000, patience_ms=100) as client:
            proxy.cut_at(b"POST /v1/executions", on_lost=lambda: spoil(server))
            with pytest.raises(OutcomeUnknown, match="may have"):
                await client.submit("work", id="mine")
            with pytest.raises(refusal):
                await client.submit("work", id="other")
        assert (await engine.describe("mine")).id == "mine"


async def test_a_key_that_was_revoked_meanwhile_does_not_deny_what_happened(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """401 says nothing of the call whose answer was lost."""
    monkeypatch.setattr(identity, "FRESH_S", 0.0)
    async with _served(server) as (engine, proxy):
        key, secret = await engine.api_keys.create(roles=[Role.ADMIN])
        url = f"http://127.0.0.1:{proxy.port}"
        async with Client(url, key=secret, timeout_ms=2_000) as client:

            def revoke() -> None:
                asyncio.run_coroutine_threadsafe(engine.api_keys.revoke(key.id), loop).result(5)

            loop = asyncio.get_running_loop()
            proxy.cut_at(b"POST /v1/executions", on_lost=revoke)
            with pytest.raises(OutcomeUnknown, match="may have"):
                await client.submit("work", id="mine")
        assert (await engine.describe("mine")).id == "mine"


async def test_an_answer_to_the_call_itself_counts(server: TestServer) -> None:
    """Whatever was lost before: a refusal of the store is one of the first try, too."""
    async with _served(server) as (_, proxy):
        url = f"http://127.0.0.1:{proxy.port}"
        async with Client(url, timeout_ms=5_000) as client:
            proxy.cut_at(b"POST /v1/executions")
            assert (await client.submit("work", id="mine")).id == "mine"
            proxy.cut_at(b"POST /v1/executions")
            with pytest.raises(IdConflict):
                await client.submit("other", id="mine")


async def test_a_full_store_is_said_once_by_a_server(
    server: TestServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Not once per call: when it is full, and when it has room again; also without library."""
    async with _served(server) as (engine, proxy), httpx.AsyncClient() as client:
        url = f"http://127.0.0.1:{proxy.port}/v1/executions"
        kept = [(await engine.submit("k")).id for _ in range(5)]
        with caplog.at_level(logging.INFO, "holdfast"), server.raw() as raw:
            caplog.clear()
            raw.config_set("maxmemory", 1)
            raw.function_flush()
            for execution_id in kept:
                assert (await client.post(url, json={"kind": "k"})).status_code == 503
                cancelled = await client.post(f"{url}/{execution_id}/cancel", json={})
                assert cancelled.is_success, cancelled.text
            raw.config_set("maxmemory", 0)
            for _ in range(5):
                assert (await client.post(url, json={"kind": "k"})).status_code == 201
    records = [record for record in caplog.records if record.name.startswith("holdfast")]
    lines = [(record.levelname, record.getMessage()) for record in records]
    assert [level for level, _ in lines].count("ERROR") == 0
    assert len([line for _, line in lines if line.startswith("the store is full")]) == 1
    assert len([line for _, line in lines if line.startswith("the store accepts new data")]) == 1
    assert len(lines) <= 4, lines


@pytest.mark.parametrize(
    ("spoil", "outage"),
    [(_fill, "the store is full"), (_make_replica, "the store does not answer")],
)
async def test_a_call_that_the_store_refuses_has_no_line_of_its_own(
    server: TestServer,
    caplog: pytest.LogCaptureFixture,
    spoil: Callable[[TestServer], None],
    outage: str,
) -> None:
    """Also if the audit log cannot take it: nothing was changed, and the outage is said already."""
    async with _served(server) as (engine, proxy):
        _, secret = await engine.api_keys.create(roles=[Role.ADMIN])
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(headers=headers) as client:
            url = f"http://127.0.0.1:{proxy.port}/v1/schedules"
            body = {"id": "s", "every_ms": 60_000, "execution": {"kind": "k"}}
            spoil(server)
            with caplog.at_level(logging.INFO, "holdfast"):
                caplog.clear()
                for _ in range(5):
                    assert (await client.post(url, json=body)).status_code == 503
    loud = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert [line for line in loud if not line.startswith(outage)] == []
    assert len(loud) <= 1
