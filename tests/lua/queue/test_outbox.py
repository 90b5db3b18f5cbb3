"""hf_queue_outbox."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.engine import Engine
from holdfast.errors import QueueNotFound
from holdfast.model.deliveries import Settle
from holdfast.store.store import Store
from tests.support.queues import push, read


async def test_what_is_owed_is_listed_by_target_in_order(store: Store, engine: Engine) -> None:
    """With the number of the first, at most so many of each."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    assert (await store.queues.outbox("q", 10))[1] == []
    await push(engine, b"1", b"2", b"3")
    items = [Settle(handle=delivery.handle) for delivery in await read(engine)]
    await store.queues.settle("q", "nack", items)
    assert store.queues.take_unsent("q")
    incarnation, owed = await store.queues.outbox("q", 2)
    ((target, first, entries),) = owed
    assert (target, first, len(entries)) == ("dead", 1, 2)
    assert incarnation
    await store.queues.sent("q", "dead", 2, incarnation)
    ((_, first, entries),) = (await store.queues.outbox("q", 2))[1]
    assert (first, len(entries)) == (3, 1)


async def test_a_queue_may_owe_to_any_number_of_others(store: Store, engine: Engine) -> None:
    """Lua unpacks at most some thousand values, and an outbox that cannot be read is stuck."""
    await engine.queues.define("q")
    await push(engine, *[b"1"] * 90)
    fields = msgspec.msgpack.encode({"id": "m"})
    for number, delivery in enumerate(await read(engine, 90)):
        effects = [(f"t{number}-{place}", fields, b"1") for place in range(100)]
        await store.queues.commit("q", delivery.handle, effects)
    _, owed = await store.queues.outbox("q", 1)
    assert len(owed) == 9_000


async def test_an_unknown_queue_is_refused(store: Store) -> None:
    """It owes nothing."""
    with pytest.raises(QueueNotFound):
        await store.queues.outbox("nowhere", 1)
