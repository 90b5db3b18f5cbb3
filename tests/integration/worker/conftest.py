"""An app on a real server with the real clock; the worker runs in the test's event loop."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from holdfast import App, Backoff, RetryPolicy, WorkerSettings
from holdfast.engine import Engine, open_engine
from holdfast.worker.worker import Worker

#: The shortest lease there is: a worker beats three times a second.
LEASE_MS = 1_000

Working = Callable[..., AbstractAsyncContextManager[Worker]]


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock that fires its own timers."""
    async with open_engine(real_url) as engine:
        yield engine


@pytest.fixture
def app(engine: Engine) -> App:
    """An app without tasks."""
    return App().attach(engine)


@pytest.fixture
def working(app: App) -> Working:
    """Run a worker of the app with a short lease for as long as a block runs."""

    @contextlib.asynccontextmanager
    async def run(**settings: Any) -> AsyncIterator[Worker]:
        async with app.worker(WorkerSettings(**{"lease_ms": LEASE_MS, **settings})) as worker:
            yield worker

    return run


def at_once(attempts: int) -> RetryPolicy:
    """A policy that tries again without a pause."""
    return RetryPolicy(max_attempts=attempts, backoff=Backoff(kind="fixed", initial_ms=0))
