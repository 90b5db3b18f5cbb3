"""What orchestrators ask: does the process run, and can it work?"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from holdfast.engine import Engine, open_engine
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.services import supervisor
from holdfast.store.store import StoreSettings
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_server
from tests.server.conftest import Site

#: A library of a version to come, which lacks every function of ours.
NEWER_LIBRARY = b"""#!lua name=holdfast
redis.register_function{function_name='hf_revision_999999_ab', callback=function() end}
"""


@pytest.fixture
def own_store() -> Iterator[TestServer]:
    """A Valkey server that a test may spoil."""
    with start_server() as server:
        yield server


@contextlib.asynccontextmanager
async def serving_on(store: TestServer) -> AsyncIterator[tuple[Engine, httpx.AsyncClient]]:
    url = f"valkey://127.0.0.1:{store.port}"
    async with (
        open_engine(url, StoreSettings(call_timeout_ms=1_000)) as engine,
        serving(engine, ServerSettings(port=0)) as (server, address),
        Site(server, engine, address).client() as client,
    ):
        yield engine, client


async def assert_unready(client: httpx.AsyncClient, why: str) -> None:
    """Check that it runs, is not ready, and says why."""
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    response = await client.get("/readyz")
    problem = response.json()
    assert (response.status_code, problem["code"]) == (503, "store_unavailable"), problem
    assert why in problem["detail"]
    assert problem["retryable"]
    assert response.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    "name", ["ticker", "courier", "scheduler", "queue ticker", "announcer", "channels", "reporter"]
)
async def test_a_service_that_stopped_is_not_ready_until_it_runs_again(
    own_store: TestServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probes and figures name it, whichever it is."""
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_S", 1.0)
    async with serving_on(own_store) as (engine, client):
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        engine.services.kill(name)

        async def stopped() -> bool:
            return not all(one.running for one in engine.services.statuses())

        await wait_for(stopped)
        await assert_unready(client, f"the service {name} is restarting: it was cancelled")
        figures = (await client.get("/metrics")).text
        assert f'holdfast_service_up{{service="{name}"}} 0.0' in figures

        async def ready() -> bool:
            return (await client.get("/readyz")).status_code == 200

        await wait_for(ready, timeout_s=10)
        figures = (await client.get("/metrics")).text
        assert f'holdfast_service_up{{service="{name}"}} 1.0' in figures
        assert f'holdfast_service_restarts_total{{service="{name}"}} 1.0' in figures


async def test_a_store_that_is_gone_is_not_ready(own_store: TestServer) -> None:
    """And one that hangs neither."""
    async with serving_on(own_store) as (_, client):
        with own_store.raw() as raw:
            raw.client_pause(3_000)
        await assert_unready(client, "the store")
        own_store.process.kill()
        own_store.process.wait()
        await assert_unready(client, "the store")


async def test_a_lost_library_is_loaded_again(own_store: TestServer) -> None:
    """A store that lost it, such as a fresh one, is made ready by the question."""
    async with serving_on(own_store) as (_, client):
        with own_store.raw() as raw:
            raw.function_flush()
        assert (await client.get("/readyz")).json() == {"status": "ready"}


async def test_a_replaced_library_is_not_ready(own_store: TestServer) -> None:
    """A newer one is left alone; without our functions it is of no use to us."""
    async with serving_on(own_store) as (_, client):
        with own_store.raw() as raw:
            raw.function_load(NEWER_LIBRARY, replace=True)
            await assert_unready(client, "newer library, without hf_key_find: upgrade")
            assert b"hf_revision_999999_ab" in str(raw.function_list()).encode()
