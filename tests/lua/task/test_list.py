"""hf_task_list."""

from __future__ import annotations

from holdfast.store.store import Store


async def test_without_workers_there_are_no_tasks(store: Store) -> None:
    """An empty store has an empty list."""
    assert await store.tasks.list() == {}


async def test_tasks_are_listed_by_name(store: Store) -> None:
    """The order does not depend on who published first."""
    await store.tasks.publish({"b": {}, "a": {}})
    assert list(await store.tasks.list()) == ["a", "b"]


async def test_a_tenants_own_task_is_listed_instead(store: Store) -> None:
    """Whatever the names are, and whoever published last."""
    await store.tasks.publish({"a": {"lane": "ours"}}, "zoo")
    await store.tasks.publish({"a": {"lane": "all"}})
    await store.tasks.publish({"z": {"lane": "all"}})
    await store.tasks.publish({"z": {"lane": "ours"}}, "ant")
    assert await store.tasks.list("zoo") == {"a": {"lane": "ours"}, "z": {"lane": "all"}}
    assert await store.tasks.list("ant") == {"a": {"lane": "all"}, "z": {"lane": "ours"}}
