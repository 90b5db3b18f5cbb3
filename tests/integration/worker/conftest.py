"""An app on a real server with the real clock; the worker runs in the test's event loop."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from holdfast import App, Backoff, RetryPolicy, WorkerSettings
from holdfast.client import Client
from holdfast.engine import Engine, open_engine
from holdfast.model.states import State
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.polling import wait_for
from holdfast.worker.handle import Handle
from holdfast.worker.worker import Worker

#: The shortest lease there is: a worker beats three times a second.
LEASE_MS = 1_000

Working = Callable[..., AbstractAsyncContextManager[Worker]]


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock that fires its own timers."""
    async with open_engine(real_url) as engine:
        yield engine


#: Marks tests that need the store in their own process.
near = pytest.mark.parametrize("app", ["store"], indirect=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of modules that say so also with the app far from the store, over HTTP."""
    marks = metafunc.definition.iter_markers("parametrize")
    if (
        getattr(metafunc.module, "ALSO_OVER_HTTP", False)
        and "app" in metafunc.fixturenames
        and not any(mark.args[0] == "app" for mark in marks)
    ):
        metafunc.parametrize("app", ["store", "http"], indirect=True)


@pytest.fixture
async def app(request: pytest.FixtureRequest, engine: Engine) -> AsyncIterator[App]:
    """An app without tasks, on the store itself and on a server far from it."""
    if getattr(request, "param", "store") == "store":
        yield App().attach(engine)
        return
    async with (
        serving(engine, ServerSettings(port=0)) as (_, url),
        Client(url) as client,
    ):
        yield App().attach(client)


@pytest.fixture
def working(app: App) -> Working:
    """Run a worker of the app with a short lease for as long as a block runs."""

    @contextlib.asynccontextmanager
    async def run(**settings: Any) -> AsyncIterator[Worker]:
        async with app.worker(WorkerSettings(**{"lease_ms": LEASE_MS, **settings})) as worker:
            yield worker

    return run


async def suspended(handle: Handle[Any]) -> str:
    """Wait until an execution is suspended; returns why."""

    async def probe() -> bool:
        return await handle.state() is State.SUSPENDED

    await wait_for(probe, timeout_s=5)
    return (await handle.explain()).why


def at_once(attempts: int) -> RetryPolicy:
    """A policy that tries again without a pause."""
    return RetryPolicy(max_attempts=attempts, backoff=Backoff(kind="fixed", initial_ms=0))
