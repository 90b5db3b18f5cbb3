"""Connections are lost at random moments under load; what was acknowledged is what is stored."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from random import Random

import pytest

from holdfast.store.store import StoreSettings, open_store
from holdfast.testing.servers import TestServer, start_server
from tests.chaos.load import Load, check_history, check_nothing_is_lost
from tests.support.dump import dump_keys
from tests.support.proxy import Cut, CuttingProxy, open_proxy

LOAD_S = 5


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with start_server() as server:
        yield server


async def _cut_at_random(proxy: CuttingProxy, random: Random, load: Load) -> None:
    """Cut about 20 times a second, and stop the load at last."""
    async with asyncio.timeout(LOAD_S * 4):
        end = asyncio.get_running_loop().time() + LOAD_S
        while asyncio.get_running_loop().time() < end:
            proxy.cut_one()
            await asyncio.sleep(random.uniform(0, 0.1))
            # The load must get on between two cuts, else nothing is tested.
            await load.wait_for_calls(10)
    load.stop()


@pytest.mark.timeout(90)
async def test_what_was_acknowledged_is_stored_once_whatever_connections_are_lost(
    server: TestServer,
) -> None:
    """Calls whose reply was lost are sent again by the store layer and happen once."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    random = Random(seed)
    prefix = f"cut{seed}"
    settings = StoreSettings(call_timeout_ms=60_000)
    with open_proxy(server.port, Random(seed)) as proxy:
        url = f"valkey://127.0.0.1:{proxy.port}?prefix={prefix}"
        async with open_store(url, settings) as store:
            load = Load(store, random)
            async with asyncio.TaskGroup() as group:
                for _ in range(4):
                    group.create_task(load.submit())
                for number in range(4):
                    group.create_task(load.work(f"w{number}"))
                group.create_task(_cut_at_random(proxy, random, load))
            check_nothing_is_lost(load, dump_keys([server], prefix))
            await load.drain()
            check_nothing_is_lost(load, dump_keys([server], prefix))
            assert load.completed.keys() == load.submitted.keys()
            await check_history(load, store)
    # A run that lost no reply has shown nothing.
    assert all(proxy.cuts[cut] > 0 for cut in Cut), proxy.cuts
    assert len(load.completed) > 200
