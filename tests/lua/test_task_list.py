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
