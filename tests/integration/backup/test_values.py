"""Backups of any values: their size, and the format in which servers read them."""

from __future__ import annotations

import os

from holdfast.backup import parts, restore, take
from holdfast.fencing.memory import MemoryObjects
from holdfast.operate.verify import verify
from holdfast.store.store import Store
from tests.support.lifecycle import create_one


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
