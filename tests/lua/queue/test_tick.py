"""hf_queue_tick."""

from __future__ import annotations

import pytest

from holdfast.engine import Engine
from holdfast.errors import QueueNotFound
from holdfast.model.deliveries import Settle
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.queues import counts, push, read


async def test_it_fires_what_is_due_and_says_when_to_look_again(
    store: Store, engine: Engine, clock: Clock
) -> None:
    """A limit is kept; what is left is due now."""
    await engine.queues.define("q", lock_ms=1_000)
    assert await store.queues.tick("q", 10) == (0, 30_000)
    await push(engine, *[b"1"] * 5)
    await read(engine)
    await push(engine, b"1", delay_ms=5_000)
    assert await store.queues.tick("q", 10) == (0, 1_000)
    await clock.advance(1_000)
    assert await store.queues.tick("q", 3) == (3, 0)
    assert await store.queues.tick("q", 3) == (2, 4_000)


async def test_it_says_that_something_is_owed(store: Store, engine: Engine, clock: Clock) -> None:
    """At once, and again every five seconds, for whoever finds it after a crash."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1")
    items = [Settle(handle=delivery.handle) for delivery in await read(engine)]
    await store.queues.settle("q", "nack", items)
    for _ in range(2):
        store.queues.take_unsent("q")
        await store.queues.tick("q", 10)
        assert store.queues.take_unsent("q")
        await clock.advance(4_999)
        await store.queues.tick("q", 10)
        assert not store.queues.take_unsent("q")
        await clock.advance(1)


async def test_its_answer_counts_what_is_due_and_marks_what_is_owed(
    store: Store, engine: Engine
) -> None:
    """A dead letter that waits for its queue is owed."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1")
    items = [Settle(handle=delivery.handle) for delivery in await read(engine)]
    await store.queues.settle("q", "nack", items)
    tag = store.queue_tag("q")
    assert await store.caller.write("hf_queue_tick", tag, "10") == [1, 5_000, 1]


async def test_an_unknown_queue_is_refused(store: Store) -> None:
    """The ticker forgets it."""
    with pytest.raises(QueueNotFound):
        await store.queues.tick("nowhere", 1)


async def test_a_delayed_message_that_was_read_does_not_expire(
    store: Store, engine: Engine, clock: Clock
) -> None:
    """Neither while it is in flight nor when it is acknowledged."""
    await engine.queues.define("q", lock_ms=60_000)
    await push(engine, b"1", b"2", delay_ms=1_000, ttl_ms=5_000)
    await clock.advance(1_000)
    first, _ = await read(engine)
    await engine.queues.ack("q", first.handle)
    await clock.advance(5_000)
    await store.queues.tick("q", 100)
    assert await counts(engine) == {"acked": 1, "in_flight": 1}
