"""hf_task_publish."""

from __future__ import annotations

from holdfast.store.store import Store


async def test_a_published_task_is_described(store: Store) -> None:
    """Tools read what workers say of their tasks."""
    await store.tasks.publish({"greet": {"input": {"type": "object"}, "lane": "default"}})
    assert await store.tasks.list() == {"greet": {"input": {"type": "object"}, "lane": "default"}}


async def test_a_later_description_replaces_the_earlier(store: Store) -> None:
    """The newest worker knows best; other tasks stay."""
    await store.tasks.publish({"a": {"lane": "x"}, "b": {"lane": "y"}})
    await store.tasks.publish({"a": {"lane": "z"}})
    assert await store.tasks.list() == {"a": {"lane": "z"}, "b": {"lane": "y"}}


async def test_publishing_nothing_is_no_call(store: Store) -> None:
    """An app without tasks has nothing to say."""
    await store.tasks.publish({})
    assert await store.tasks.list() == {}
