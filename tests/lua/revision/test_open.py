"""hf_revision_open."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from holdfast.store.store import Store
from tests.support.deployments import create, stage
from tests.support.lifecycle import Dump, create_one


async def test_a_revision_that_is_opened_again_starts_executions(store: Store) -> None:
    """Twice is as good as once."""
    await store.needs.close("default", "blue")
    for _ in range(2):
        await store.needs.open("default", "blue")
    assert await create_one(store, requires=("rev:blue",))
    assert (await store.needs.close("default", "blue")).running == 1


async def test_calls_of_an_earlier_version_change_nothing(store: Store, dump: Dump) -> None:
    """They come late; of another revision with the id, one that opens counts."""
    ref = await create(store)
    staged = await stage(store, ref, "blue")
    late, seen = (replace(staged, version=number) for number in (3, 4))
    other = replace(late, version=1, staged_at=late.staged_at + timedelta(seconds=1))
    await store.needs.open("default", "blue", seen)
    before = dump()
    for one in (late, seen, other):
        await store.needs.close("default", "blue", one)
        assert dump() == before
    await store.needs.close("default", "blue", replace(seen, version=5))
    before = dump()
    await store.needs.open("default", "blue", seen)
    assert dump() == before
    await store.needs.open("default", "blue", other)
    assert await create_one(store, requires=("rev:blue",))
