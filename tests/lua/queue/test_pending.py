"""hf_queue_pending."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.deliveries import PendingDelivery
from holdfast.model.moments import from_ms
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import push, read_one, refused


async def test_deliveries_are_listed_without_their_handles(engine: Engine, clock: Clock) -> None:
    """The first to expire first; pages by offset."""
    await engine.queues.define("q", lock_ms=5_000)
    await push(engine, b"1", id="a", key="k")
    await push(engine, b"2", id="b")
    slow = await read_one(engine, consumer="slow")
    await clock.advance(1_000)
    await read_one(engine, consumer="fast")
    await engine.queues.extend("q", [(slow.handle, 60_000)])
    found = await engine.queues.pending("q")
    assert found == [
        PendingDelivery(
            id="b",
            key=None,
            consumer="fast",
            attempt=1,
            since=from_ms(clock.now_ms),
            deadline=from_ms(clock.now_ms + 5_000),
        ),
        PendingDelivery(
            id="a",
            key="k",
            consumer="slow",
            attempt=1,
            since=from_ms(clock.now_ms),
            deadline=from_ms(clock.now_ms + 60_000),
        ),
    ]
    assert await engine.queues.pending("q", limit=1, offset=1) == found[1:]


async def test_an_expired_delivery_is_not_pending(engine: Engine, clock: Clock, dump: Dump) -> None:
    """Looking changes nothing, so it is left out before a tick has seen it."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1")
    await read_one(engine)
    await clock.advance(1_000)
    before = dump()
    assert await engine.queues.pending("q") == []
    assert dump() == before


async def test_unknown_names_are_refused(engine: Engine, dump: Dump) -> None:
    """Queue and group."""
    await engine.queues.define("q", mode="fanout")
    await refused(engine.queues.pending("nowhere"), "queue_not_found", dump)
    await refused(engine.queues.pending("q", group="nobody"), "group_not_found", dump)
