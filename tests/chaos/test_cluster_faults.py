"""A cluster loses a primary, or its function library, under load."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from holdfast.errors import LeaseLost, NotFound
from holdfast.model.executions import NewExecution, Submitted
from holdfast.store.store import StoreSettings, open_store
from holdfast.store.valkey.cluster import slot_of
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_cluster
from tests.chaos.load import Load, check_history, check_nothing_is_lost
from tests.support.dump import dump_keys
from tests.support.invariants import violations

PRIMARIES = 3
FAILOVER_S = 15
SETTINGS = StoreSettings(call_timeout_ms=30_000)


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[TestServer]]:
    with start_cluster(primaries=PRIMARIES, replicas=1) as nodes:
        for node in nodes[:PRIMARIES]:
            # By default a primary waits 5 s for further replicas before it sends its data.
            _command(node, "CONFIG", "SET", "repl-diskless-sync-delay", "0")
        yield nodes


def _command(node: TestServer, *words: str | bytes) -> Any:
    with node.raw() as client:
        return client.execute_command(*words)


def _url(nodes: list[TestServer], prefix: str) -> str:
    places = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    return f"valkey-cluster://{places}?partitions=16&prefix={prefix}"


async def _wait_for_replicas(nodes: list[TestServer]) -> None:
    """Wait until every replica has the data of its primary; before that it cannot take over."""

    async def connected() -> bool:
        return all(_command(node, "ROLE")[3] == b"connected" for node in nodes[PRIMARIES:])

    await wait_for(connected, timeout_s=20)


async def _flush_functions(primaries: list[TestServer], load: Load) -> None:
    """Take the library from every primary, several times, while the load goes on."""
    for _ in range(5):
        await load.wait_for_calls(300)
        for node in primaries:
            _command(node, "FUNCTION", "FLUSH")
    await load.wait_for_calls(300)
    load.stop()


@pytest.mark.timeout(90)
async def test_a_flushed_library_comes_back_by_itself(nodes: list[TestServer]) -> None:
    """Calls that find no library load it and go on; nobody notices."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    primaries = nodes[:PRIMARIES]
    async with open_store(_url(nodes, "flush"), SETTINGS) as store:
        load = Load(store, Random(seed))
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(load.submit())
            for number in range(4):
                group.create_task(load.work(f"w{number}"))
            group.create_task(_flush_functions(primaries, load))
        await load.drain()
        assert load.completed.keys() == load.submitted.keys()
        check_nothing_is_lost(load, dump_keys(primaries, "flush"))
        await check_history(load, store)


def _asked(node: TestServer) -> int:
    """Return how many commands a server has sent elsewhere."""
    with node.raw() as client:
        return int(client.info("errorstats").get("errorstat_ASK", {}).get("count", 0))


async def test_a_partition_that_moves_is_never_used_in_part(nodes: list[TestServer]) -> None:
    """Calls wait while its slot moves key by key: seed 443731 of `make chaos` lost a message."""
    async with open_store(_url(nodes, "moving"), SETTINGS) as store:
        item = NewExecution(kind="work", id="once")
        await store.executions.create([item])
        slot = slot_of(store.tag_of("once"))
        source = next(
            node for node in nodes if _command(node, "CLUSTER", "COUNTKEYSINSLOT", str(slot))
        )
        target = next(node for node in nodes[:PRIMARIES] if node is not source)
        here, there = (_command(node, "CLUSTER", "MYID") for node in (source, target))
        _command(target, "CLUSTER", "SETSLOT", str(slot), "IMPORTING", here)
        _command(source, "CLUSTER", "SETSLOT", str(slot), "MIGRATING", there)
        before = _asked(source)
        again = asyncio.ensure_future(store.executions.create([item]))
        await wait_for(lambda: asyncio.to_thread(lambda: _asked(source) > before + 1))
        assert _command(target, "CLUSTER", "COUNTKEYSINSLOT", str(slot)) == 0
        while keys := _command(source, "CLUSTER", "GETKEYSINSLOT", str(slot), "100"):
            place = ("127.0.0.1", str(target.port), "", "0", "5000")
            _command(source, "MIGRATE", *place, "KEYS", *keys)
        for node in (target, source):
            _command(node, "CLUSTER", "SETSLOT", str(slot), "NODE", there)
        (answer,) = await again
        assert isinstance(answer, Submitted)
        assert answer.duplicate


async def _kill_one(victim: TestServer, replica: TestServer, load: Load) -> None:
    """Kill a primary; its replica takes over, and the load gets on, within seconds."""
    await load.wait_for_calls(300)
    victim.process.kill()
    victim.process.wait()

    async def promoted() -> bool:
        role: bytes = _command(replica, "ROLE")[0]
        return role == b"master"

    async with asyncio.timeout(FAILOVER_S):
        await wait_for(promoted, timeout_s=FAILOVER_S)
        await load.wait_for_calls(300)
    load.stop()


@pytest.mark.timeout(90)
async def test_the_load_goes_on_when_a_primary_dies(nodes: list[TestServer]) -> None:
    """Its replica takes over with data and library; what replication lost breaks no invariant.

    This test ends a node of the module's cluster, so it is the last one.
    """
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    victim, replica = nodes[0], nodes[PRIMARIES]
    await _wait_for_replicas(nodes)
    async with open_store(_url(nodes, "failover"), SETTINGS) as store:
        load = Load(store, Random(seed))
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(load.submit(tolerant=True))
            for number in range(4):
                group.create_task(load.work(f"w{number}", tolerant=True))
            group.create_task(_kill_one(victim, replica, load))
        # The store layer waits for the failover. Only what replication lost may be refused.
        assert [e for e in load.errors if not isinstance(e, LeaseLost | NotFound)] == []
        listing = _command(replica, "FUNCTION", "LIST", "LIBRARYNAME", "holdfast")
        assert listing, "the promoted node has no library"
        await load.drain()
        dump = dump_keys([*nodes[1:PRIMARIES], replica], "failover")
    assert violations(dump) == []
    states = {record[b"state"] for key, record in dump.items() if "}:x:" in key}
    # A claim that replication lost was made again; a completion that it lost left a lease.
    assert states <= {b"completed", b"active"}
