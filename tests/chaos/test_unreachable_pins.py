"""Pins while the store hangs, is full or is gone: messages are routed all the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from unittest import mock

import pytest

from holdfast.model.pins import Existing, Finding, Inserted, Pin, Skipped
from holdfast.routing import Decision, Reason, Router, RoutingTable, StorePins
from holdfast.store.store import Store, open_store
from holdfast.store.valkey.wire import Command
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_server
from tests.support.fault_injection import before_calls
from tests.support.pinning import R1, key, roster

TABLE = RoutingTable("local", "d", "t", 0, ()).followed_by(
    {"r1": 5_000, "r2": 5_000}, {"r1": "ready", "r2": "ready"}
)


@pytest.fixture
def server() -> Iterator[TestServer]:
    """A server of one's own, to be disturbed."""
    with start_server() as started:
        yield started


@pytest.fixture
async def store(server: TestServer) -> AsyncIterator[Store]:
    async with open_store(f"valkey://127.0.0.1:{server.port}") as opened:
        yield opened


async def test_a_store_that_hangs_delays_a_message_by_no_more_than_the_deadline(
    store: Store,
) -> None:
    """The message goes where the weights put it; the next one may find its pin again."""
    pins, patient = StorePins(store), StorePins(store, deadline_s=5)
    hanging = asyncio.Event()

    async def hang(_: Command) -> None:
        await hanging.wait()

    assert await patient.try_pin(key(), "r1", roster(1)) == Inserted(R1)
    with before_calls(store.client, hang):
        started = time.perf_counter()
        assert await pins.try_pin(key(), "r2", roster(1)) == Skipped(Pin("r2", 1))
        assert await pins.lookup(key(), roster(1)) is None
        decision = await Router(pins).route(TABLE, "s")
        took = time.perf_counter() - started
    assert decision == Decision(TABLE.choose("s"), Reason.WEIGHTS)
    # Three deadlines of 50 ms, on a machine that may be busy.
    assert 0.15 <= took < 2
    assert pins.counts == {Finding.SKIPPED: 3}
    assert await patient.lookup(key(), roster(1)) == R1


async def test_a_full_store_keeps_its_pins_and_takes_no_new_ones(
    store: Store, server: TestServer
) -> None:
    """Nothing is raised."""
    pins = StorePins(store, deadline_s=5)
    await pins.try_pin(key("old"), "r1", roster(1))
    with server.raw() as raw:
        raw.config_set("maxmemory", 1)
        assert isinstance(await pins.try_pin(key("new"), "r1", roster(1)), Skipped)
        assert await pins.lookup(key("old"), roster(1)) == R1
        # A pin that no longer holds can be removed, which frees memory.
        assert await pins.lookup(key("old"), roster(2, {"r2": 2})) is None
        raw.config_set("maxmemory", 0)
    assert isinstance(await pins.try_pin(key("new"), "r1", roster(1)), Inserted)


async def test_a_server_that_is_gone_raises_nothing(store: Store, server: TestServer) -> None:
    """Every call is answered within its deadline."""
    pins = StorePins(store)
    with server.raw() as raw:
        raw.shutdown(nosave=True, now=True, force=True)
    assert isinstance(await pins.try_pin(key(), "r1", roster(1)), Skipped)
    assert await pins.lookup(key(), roster(1)) is None
    assert pins.counts == {Finding.SKIPPED: 2}


async def test_a_closed_store_raises_nothing(server: TestServer) -> None:
    """A process that stops may still route its last messages."""
    async with open_store(f"valkey://127.0.0.1:{server.port}") as opened:
        pins = StorePins(opened)
    assert isinstance(await pins.try_pin(key(), "r1", roster(1)), Skipped)


async def test_an_answer_that_nobody_knows_raises_nothing(store: Store) -> None:
    """A later version of the library may have words that this process lacks."""
    pins = StorePins(store, deadline_s=5)
    answer = mock.AsyncMock(return_value=[b"ok", b"mislaid"])
    with mock.patch.object(store.client, "call", answer):
        assert isinstance(await pins.try_pin(key(), "r1", roster(1)), Skipped)
    assert isinstance(await pins.try_pin(key(), "r1", roster(1)), Inserted)


async def test_a_cancelled_message_is_cancelled(store: Store) -> None:
    """The deadline of a pin does not hide that its caller is stopped."""
    pins = StorePins(store, deadline_s=5)
    reached, hanging = asyncio.Event(), asyncio.Event()

    async def hang(_: Command) -> None:
        reached.set()
        await hanging.wait()

    with before_calls(store.client, hang):
        task = asyncio.create_task(pins.lookup(key(), roster(1)))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_pins_survive_a_restart_of_the_router(store: Store) -> None:
    """Another process finds them, as does this one after it lost its connections."""
    await StorePins(store, deadline_s=5).try_pin(key(), "r1", roster(1))
    other = StorePins(store, deadline_s=5)
    await store.client.call(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])

    async def found() -> bool:
        return await other.try_pin(key(), "r2", roster(1)) == Existing(R1)

    await wait_for(found)
