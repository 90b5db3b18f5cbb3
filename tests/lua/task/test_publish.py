"""hf_task_publish."""

from __future__ import annotations

from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.polling import wait_for


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


async def test_only_changes_are_announced(store: Store) -> None:
    """A hundred workers that start say the same; nobody has to read it a hundred times."""
    heard: list[str] = []
    channel = channels.topic(store.global_tag, "tasks")

    def listen(_channel: str, message: str) -> None:
        heard.append(message)

    await store.subscriptions.add([channel], listen)
    await store.tasks.publish({"a": {"lane": "x"}, "b": {"lane": "y"}})
    await store.tasks.publish({"a": {"lane": "x"}, "b": {"lane": "y"}})
    await store.tasks.publish({"a": {"lane": "x"}, "b": {"lane": "z"}})
    # A last message that surely comes: then all before it have come too.
    await store.client.call(
        ["SPUBLISH" if store.client.cluster else "PUBLISH", channel, "end of test"]
    )

    async def ended() -> bool:
        return "end of test" in heard

    await wait_for(ended)
    await store.subscriptions.remove([channel], listen)
    assert heard == ["", "", "end of test"]
