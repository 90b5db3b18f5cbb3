"""hf_queue_sent."""

from __future__ import annotations

import pytest

from holdfast.engine import Engine
from holdfast.errors import QueueNotFound
from holdfast.model.deliveries import Settle
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.queues import push, read


async def test_confirmations_may_come_twice_and_late(
    store: Store, engine: Engine, dump: Dump
) -> None:
    """Only what was confirmed goes, once; an older one, or of another queue, changes nothing."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1", b"2", b"3")
    items = [Settle(handle=delivery.handle) for delivery in await read(engine)]
    await store.queues.settle("q", "nack", items)
    incarnation, _ = await store.queues.outbox("q", 10)
    assert await store.queues.sent("q", "dead", 2, incarnation) == 1
    before = dump()
    assert await store.queues.sent("q", "dead", 2, incarnation) == 1
    assert await store.queues.sent("q", "dead", 1, incarnation) == 1
    assert await store.queues.sent("q", "dead", 3, "another") == 1
    assert dump() == before
    assert await store.queues.sent("q", "dead", 3, incarnation) == 0


async def test_older_processes_do_not_say_which_queue_they_mean(
    store: Store, engine: Engine
) -> None:
    """It is the present one."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1")
    items = [Settle(handle=delivery.handle) for delivery in await read(engine)]
    await store.queues.settle("q", "nack", items)
    assert await store.caller.write("hf_queue_sent", store.queue_tag("q"), "dead", "1") == [0]


async def test_an_unknown_queue_is_refused(store: Store) -> None:
    """It owes nothing."""
    with pytest.raises(QueueNotFound):
        await store.queues.sent("nowhere", "dead", 1, "any")
