"""What the engine tells people about odd moments: after a retry, with bad claims, when full."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.errors import InvalidInput, StoreFull
from holdfast.model.executions import Failure
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.testing.servers import TestServer, start_server

AT_ONCE = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=0))


async def test_a_completed_execution_shows_no_error_of_an_earlier_attempt(engine: Engine) -> None:
    """An error is shown where it ended the execution, not where a retry made it good."""
    submitted = await engine.submit("work", retry=AT_ONCE)
    async with engine.claimer(worker="w1") as claimer:
        (claim,) = await claimer.claim(1, 30_000)
        await engine.fail(claim.id, claim.lease, Failure(type="Busy", message="later"))
        (claim,) = await claimer.claim(1, 30_000, wait_ms=5_000)
        await engine.complete(claim.id, claim.lease, b"1")
    outcome = await engine.outcome(submitted.id)
    assert outcome is not None
    assert outcome.error is None
    assert (await engine.describe(submitted.id)).error is None


@pytest.mark.parametrize(
    ("field", "limit", "lease_ms"),
    [
        ("lease_ms", 1, 999),
        ("lease_ms", 1, 86_400_001),
        ("limit", 0, 1_000),
        ("limit", 1_001, 1_000),
    ],
)
async def test_a_claim_outside_the_limits_is_refused(
    engine: Engine, field: str, limit: int, lease_ms: int
) -> None:
    """Claims are checked at their entry like every other call."""
    async with engine.claimer(worker="w1") as claimer:
        with pytest.raises(InvalidInput) as refused:
            await claimer.claim(limit, lease_ms)
    assert refused.value.context["field"] == field


@pytest.fixture
def own_server() -> Iterator[TestServer]:
    """A server that may be filled up without harm to other tests."""
    with start_server() as server:
        yield server


@asynccontextmanager
async def _full(server: TestServer) -> AsyncIterator[tuple[Engine, str]]:
    """Open an engine with one completed execution on a store that then fills up."""
    async with open_engine(f"valkey://127.0.0.1:{server.port}", maintenance=False) as engine:
        done = (await engine.submit("work")).id
        async with engine.claimer(worker="w1") as claimer:
            (claim,) = await claimer.claim(1, 30_000)
            await engine.complete(claim.id, claim.lease, b"1")
        with server.raw() as raw:
            raw.config_set("maxmemory", "1")
        with pytest.raises(StoreFull):
            await engine.submit("work")
        yield engine, done


async def test_a_full_store_still_gives_results(own_server: TestServer) -> None:
    """What is done can be read; only new work needs room."""
    async with _full(own_server) as (engine, done):
        assert await engine.result(done, timeout_s=5) == b"1"


async def test_a_full_store_can_be_opened(own_server: TestServer) -> None:
    """A process that restarts while the store is full can help to empty it."""
    async with _full(own_server), open_engine(f"valkey://127.0.0.1:{own_server.port}") as second:
        assert await second.count() != []


async def test_retention_can_be_shortened_in_a_full_store(own_server: TestServer) -> None:
    """The error's own advice can be followed."""
    async with _full(own_server) as (engine, _):
        await engine.lanes.set_retention({"completed": 1})
        settings = await engine.store.lanes.settings()
    assert settings["keep|*|completed"] == "1"
