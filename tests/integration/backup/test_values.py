"""Backups of any values: their size, and the format in which servers read them."""

from __future__ import annotations

import os
from typing import Any

from holdfast.backup import parts, restore, take
from holdfast.engine import Engine
from holdfast.fencing.memory import MemoryObjects
from holdfast.operate.verify import verify
from holdfast.store.store import Store
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.node import Node
from holdfast.store.valkey.wire import Command
from holdfast.testing.clock import Clock
from tests.support import full_store
from tests.support.lifecycle import Dump, create_one


async def test_parts_are_of_about_one_size_however_large_the_values_are(
    single_store: Store,
) -> None:
    """A request of an object storage must end in time, and memory is bounded."""
    objects = MemoryObjects()
    for _ in range(20):
        await create_one(single_store, input=os.urandom(900_000))
    made = await take(single_store, objects, name="a")
    assert len(made.parts) == 3
    assert max(part.bytes for part in made.parts) < parts.BYTES + 2_000_000
    assert sum(part.keys for part in made.parts) == made.keys
    await restore(single_store.client, single_store.url, objects, "a", force=True)
    assert (await verify(single_store)).drifts == []


class Watched:
    """A client that notes the formats of the values that are restored."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.formats = set[int]()

    def primaries(self) -> list[Node]:
        """Return the servers."""
        return self._client.primaries()

    async def on_primaries(self, command: Command) -> list[Any]:
        """Ask all servers."""
        return await self._client.on_primaries(command)

    async def call(self, command: Command) -> Any:
        """Note the format, which stands before the checksum."""
        if command[0] == "RESTORE":
            value = command[3]
            assert isinstance(value, bytes)
            self.formats.add(int.from_bytes(value[-10:-8], "little"))
        return await self._client.call(command)


async def test_a_server_with_the_oldest_valkey_reads_what_is_restored(
    engine: Engine, clock: Clock, dump: Dump
) -> None:
    """Valkey 8 refuses the format of the server that made the backup, which is a newer one."""
    store, objects = engine.store, MemoryObjects()
    await full_store.fill(engine, clock)
    before = dump()
    await take(store, objects, name="a")
    watched: Any = Watched(store.client)
    await restore(watched, store.url, objects, "a", force=True)
    assert watched.formats == {11}
    assert dump() == before


def test_a_value_of_a_newer_type_stays_as_it_is() -> None:
    """Older servers cannot read it in any format."""
    value = bytes([22]) + b"value" + (80).to_bytes(2, "little") + bytes(8)
    assert parts.portable(value) == value
