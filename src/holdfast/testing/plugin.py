"""The pytest plugin: a server per session, a store per test, its clock, an app under test.

The async fixtures run in the event loop that your pytest-asyncio settings give to fixtures. For
another scope, open what you need on `holdfast_server`, which any fixture can use.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.testing.app import TestApp
from holdfast.testing.clock import Clock
from holdfast.testing.servers import TestServer, start_server
from holdfast.testing.stores import TestStore, open_test_store
from holdfast.worker.app import App

# The plugin is loaded wherever Holdfast is installed, even without pytest-asyncio: anyio runs
# plain async fixtures.
_async_fixture: Callable[[Any], Any] = pytest.fixture
with contextlib.suppress(ImportError):
    import pytest_asyncio

    _async_fixture = pytest_asyncio.fixture

#: Attaches an app to the test's store.
Attach = Callable[..., Awaitable[TestApp]]


@pytest.fixture(scope="session")
def holdfast_server() -> Iterator[TestServer]:
    """A Valkey server in memory, for all tests of the process."""
    with start_server() as server:
        yield server


@_async_fixture
async def holdfast_store(holdfast_server: TestServer) -> AsyncIterator[TestStore]:
    """An empty store for this test, whose clock stands still."""
    async with open_test_store(holdfast_server) as store:
        yield store


@pytest.fixture
def holdfast_clock(holdfast_store: TestStore) -> Clock:
    """The clock of the test's store."""
    return holdfast_store.clock


@_async_fixture
async def holdfast_engine(holdfast_store: TestStore) -> AsyncIterator[Engine]:
    """An engine on the test's store; timers fire when the test ticks the clock."""
    engine = Engine(holdfast_store)
    yield engine
    await engine.close()


@_async_fixture
async def holdfast_app(holdfast_store: TestStore) -> AsyncIterator[Attach]:
    """A function that attaches an app to the test's store, until the test ends."""
    async with contextlib.AsyncExitStack() as stack:

        async def attach(app: App, **options: Any) -> TestApp:
            return await stack.enter_async_context(TestApp(app, store=holdfast_store, **options))

        yield attach
