"""hf_queue_enlist."""

from __future__ import annotations

import contextlib

import pytest

from holdfast.engine import Engine
from holdfast.errors import QueueNotFound
from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.polling import wait_for
from tests.support.fault_injection import meanwhile
from tests.support.lifecycle import Dump
from tests.support.queues import push, read, settle


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


@pytest.mark.parametrize("how", ["definition", "dead letter"])
async def test_a_dead_letter_queue_that_is_deleted_while_it_is_made_is_listed(
    store: Store, engine: Engine, how: str
) -> None:
    """Between its entry in the list and its definition."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    if how == "dead letter":
        await engine.queues.delete("dead")
        await push(engine, b"1")
    left = 1

    async def delete() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            with contextlib.suppress(QueueNotFound):
                await store.queues.remove("dead")
            await store.queues.enlist("dead", listed=False)

    with meanwhile(store.client, "hf_queue_define", delete):
        if how == "definition":
            await engine.queues.define("q", max_attempts=1, dead_letter="dead")
        else:
            await settle(engine, "nack", *await read(engine))
    assert [queue.name for queue in await engine.queues.list()] == ["dead", "q"]
