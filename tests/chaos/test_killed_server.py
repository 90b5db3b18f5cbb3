"""A server with fsync=always is killed under load; nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from random import Random

import pytest

from holdfast.store.store import StoreSettings, open_store
from holdfast.testing.servers import TestServer, start_server
from tests.chaos.load import Load, check_history, check_nothing_is_lost
from tests.support.dump import dump_keys
from tests.support.killing import kill, restart

KILLS = 3


async def _kill_and_restart(servers: list[TestServer], folder: Path, load: Load) -> None:
    for _ in range(KILLS):
        await load.wait_for_calls(500)
        kill(servers[-1])
        servers.append(restart(servers[-1], folder))
    await load.wait_for_calls(500)
    load.stop()


@pytest.mark.timeout(90)
async def test_what_was_acknowledged_survives_the_kill_of_the_server(tmp_path: Path) -> None:
    """The load goes on by itself after each restart, and every acknowledged call has happened."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    settings = StoreSettings(call_timeout_ms=60_000)
    options = ("--appendonly", "yes", "--appendfsync", "always")
    with start_server(*options, folder=tmp_path) as first:
        servers = [first]
        try:
            async with open_store(f"valkey://127.0.0.1:{first.port}", settings) as store:
                load = Load(store, Random(seed))
                async with asyncio.TaskGroup() as group:
                    for _ in range(4):
                        group.create_task(load.submit())
                    for number in range(4):
                        group.create_task(load.work(f"w{number}"))
                    group.create_task(_kill_and_restart(servers, tmp_path, load))
                check_nothing_is_lost(load, dump_keys(servers[-1:], "hf"))
                await load.drain()
                assert load.completed.keys() == load.submitted.keys()
                check_nothing_is_lost(load, dump_keys(servers[-1:], "hf"))
                await check_history(load, store)
        finally:
            kill(servers[-1])
