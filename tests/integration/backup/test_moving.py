"""Backups of a cluster whose slots move meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from holdfast.backup import restore, take
from holdfast.errors import StoreUnavailable
from holdfast.fencing.memory import MemoryObjects
from holdfast.model.executions import NewExecution
from holdfast.store.store import Store, open_store
from holdfast.store.valkey import copying
from holdfast.store.valkey.cluster import slot_of
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_cluster, start_server

PRIMARIES = 3


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[TestServer]]:
    """A cluster of three primaries, and a fourth without slots."""
    with (
        start_cluster(primaries=PRIMARIES) as primaries,
        start_server("--cluster-enabled", "yes", "--cluster-node-timeout", "2000") as fresh,
    ):
        _command(fresh, "MEET", "127.0.0.1", primaries[0].port)
        yield [*primaries, fresh]


def _command(node: TestServer, *args: str | int) -> Any:
    with node.raw() as client:
        return client.execute_command("CLUSTER", *args)


async def _moves(nodes: Sequence[TestServer], slot: int) -> None:
    """Move a slot with its keys to the fourth server, as a cluster that grows does."""
    fresh = nodes[PRIMARIES]
    there = _command(fresh, "MYID").decode()

    async def is_known() -> bool:
        seen = all(there in str(_command(node, "NODES")) for node in nodes[:PRIMARIES])
        return seen and "cluster_state:ok" in str(_command(fresh, "INFO"))

    await wait_for(is_known)
    source = next(node for node in nodes if _command(node, "COUNTKEYSINSLOT", slot))
    here = _command(source, "MYID").decode()
    _command(fresh, "SETSLOT", slot, "IMPORTING", here)
    _command(source, "SETSLOT", slot, "MIGRATING", there)
    with source.raw() as client:
        while keys := _command(source, "GETKEYSINSLOT", slot, 100):
            place = ("127.0.0.1", fresh.port, "", "0", "5000")
            client.execute_command("MIGRATE", *place, "KEYS", *keys)
    for node in (fresh, source):
        _command(node, "SETSLOT", slot, "NODE", there)


async def test_a_backup_lacks_nothing_of_a_slot_that_moves_to_a_new_server(
    nodes: list[TestServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails, with nothing written; the next one has it."""
    objects = MemoryObjects()
    places = ",".join(f"127.0.0.1:{node.port}" for node in nodes[:PRIMARIES])
    freeze = copying._freeze

    async with open_store(f"valkey-cluster://{places}?partitions=4") as store:
        await store.executions.create([NewExecution(kind="work", id="moved")])

        async def late(*args: Any, **options: Any) -> None:
            monkeypatch.setattr(copying, "_freeze", freeze)
            await _moves(nodes, slot_of(store.tag_of("moved")))
            await freeze(*args, **options)

        monkeypatch.setattr(copying, "_freeze", late)
        with pytest.raises(StoreUnavailable, match="slots"):
            await take(store, objects, name="a")
        assert [entry async for entry in objects.list("")] == []
        await wait_for(lambda: _knows_all(store, nodes))
        made = await take(store, objects, name="a")
        assert (made.servers, made.counts) == (PRIMARIES + 1, {"executions": 1})
        await restore(store.client, store.url, objects, "a", force=True)
        assert await store.queries.owner("moved") == "default"


async def _knows_all(store: Store, nodes: Sequence[TestServer]) -> bool:
    """Whether calls have been sent to the new server."""
    await store.queries.owner("moved")
    return len(store.client.primaries()) == len(nodes)
