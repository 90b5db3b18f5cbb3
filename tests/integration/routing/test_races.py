"""Routers with connections of their own that pin the same sessions at once."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator

import pytest

from holdfast.model.pins import Existing, Inserted, Pin
from holdfast.routing import StorePins
from holdfast.store.store import Store, StoreSettings, open_store
from holdfast.testing.servers import TestServer
from tests.support.pinning import RULES, key, roster

RACERS = 8


@pytest.fixture(params=["single", "cluster"])
async def stores(request: pytest.FixtureRequest) -> AsyncIterator[list[Store]]:
    """The same store, opened by each racer."""
    prefix = f"race{secrets.token_hex(4)}"
    if request.param == "single":
        server: TestServer = request.getfixturevalue("single_server")
        url = f"valkey://127.0.0.1:{server.port}?prefix={prefix}"
    else:
        nodes: list[TestServer] = request.getfixturevalue("cluster_nodes")
        url = f"valkey-cluster://127.0.0.1:{nodes[0].port}?prefix={prefix}"
    async with contextlib.AsyncExitStack() as stack:
        # The library of the other tests, whose servers these are.
        settings = StoreSettings(fake_clock=True)
        yield [await stack.enter_async_context(open_store(url, settings)) for _ in range(RACERS)]


async def test_racing_routers_agree_on_one_pin_for_each_session(stores: list[Store]) -> None:
    """Whether there was no pin, or one that no longer holds: one inserts, the others see it."""
    routers = [StorePins(store, RULES, deadline_s=10) for store in stores]
    names = [f"r{n}" for n in range(RACERS)]
    for generation in (1, 2, 3):
        # Every revision left the split and came back.
        view = roster(generation, dict.fromkeys(names, generation))
        for session in (f"s{n}" for n in range(10)):
            outcomes = await asyncio.gather(
                *(
                    router.try_pin(key(session), name, view)
                    for router, name in zip(routers, names, strict=True)
                )
            )
            inserted = [outcome.pin for outcome in outcomes if isinstance(outcome, Inserted)]
            existing = {outcome.pin for outcome in outcomes if isinstance(outcome, Existing)}
            assert len(inserted) == 1
            assert existing == {inserted[0]}
            assert inserted[0].generation == generation
            assert await routers[-1].lookup(key(session), view) == inserted[0]


async def test_racing_routers_of_two_generations_end_on_the_newer_pin(stores: list[Store]) -> None:
    """Whichever comes first, no older router takes the session back."""
    routers = [StorePins(store, RULES, deadline_s=10) for store in stores]
    old, new = roster(4, {"a": 1}), roster(5, {"b": 5})
    for session in (f"t{n}" for n in range(10)):
        await asyncio.gather(
            *(
                router.try_pin(key(session), "a" if n % 2 else "b", old if n % 2 else new)
                for n, router in enumerate(routers)
            )
        )
        assert await routers[0].lookup(key(session), new) == Pin("b", 5)
        assert await routers[1].lookup(key(session), old) == Pin("b", 5)
