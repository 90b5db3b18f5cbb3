"""hf_schedule_list."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.scheduling import plan, put


async def test_schedules_are_listed_by_id(store: Store) -> None:
    """Over all partitions, after an id, as many as asked for."""
    names = [f"s{n:02}" for n in range(25)]
    for name in reversed(names):
        await put(store, plan(name))
    assert [s.id for s in await store.schedules.page("", 100)] == names
    assert [s.id for s in await store.schedules.page("", 10)] == names[:10]
    assert [s.id for s in await store.schedules.page("s09", 10)] == names[10:20]
    assert [s.id for s in await store.schedules.page("s0", 1)] == ["s00"]
    assert await store.schedules.page("s24", 10) == []


async def test_a_deleted_one_is_not_listed(store: Store) -> None:
    """Gone from the list and from what is due."""
    await put(store, plan("a"))
    await put(store, plan("b"))
    await store.schedules.remove("a")
    assert [s.id for s in await store.schedules.page("", 10)] == ["b"]
