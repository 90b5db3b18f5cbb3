"""hf_queue_enlist."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.polling import wait_for
from tests.support.lifecycle import Dump


async def test_entering_and_leaving_may_be_repeated(store: Store, dump: Dump) -> None:
    """A name is in the list once, or not at all."""
    empty = dump()
    for _ in range(2):
        await store.queues.enlist("q")
        assert await store.queues.names("", 10) == ["q"]
    for _ in range(2):
        await store.queues.enlist("q", listed=False)
        assert dump() == empty


async def test_a_new_name_is_announced(store: Store) -> None:
    """Processes that look after queues look at the list again."""
    heard: list[str] = []
    channel = channels.topic(store.global_tag, "queues")
    await store.subscriptions.add([channel], lambda _, message: heard.append(message))
    await store.queues.enlist("q")

    async def announced() -> bool:
        return heard == [""]

    await wait_for(announced)


async def test_a_name_without_a_definition_is_no_queue(store: Store, engine: Engine) -> None:
    """As after a crash between the list and the definition."""
    await store.queues.enlist("half")
    await engine.queues.define("whole")
    assert [queue.name for queue in await engine.queues.list()] == ["whole"]
