"""hf_queue_extend."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.moments import from_ms
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import codes, payloads, push, read_one, refused, settle


async def test_a_lock_is_extended_from_now(engine: Engine, clock: Clock) -> None:
    """By so many ms, or by the queue's lock time; it may become shorter, too."""
    await engine.queues.define("q", lock_ms=5_000)
    await push(engine, b"1")
    held = await read_one(engine)
    for ms, expected in ((None, 5_000), (60_000, 60_000), (1_000, 1_000)):
        await clock.advance(900)
        assert await engine.queues.extend("q", [(held.handle, ms)]) == [
            from_ms(clock.now_ms + expected)
        ]
    await clock.advance(999)
    assert await payloads(engine) == []
    await clock.advance(1)
    assert await payloads(engine) == [b"1"]


async def test_what_is_not_held_cannot_be_extended(
    engine: Engine, clock: Clock, dump: Dump
) -> None:
    """Settled, expired or unknown: each handle gets its own answer."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1", b"2")
    acked, late = await read_one(engine), await read_one(engine)
    await settle(engine, "ack", acked)
    await clock.advance_and_tick(1_000)
    before = dump()
    items = [(handle, None) for handle in (acked.handle, late.handle, "x")]
    found = await codes(engine.queues.extend("q", items))
    assert found == ["stale_delivery", "stale_delivery", "unknown_delivery"]
    assert dump() == before


async def test_an_unknown_queue_is_refused(engine: Engine, dump: Dump) -> None:
    """Nothing to extend there."""
    await refused(engine.queues.extend("nowhere", [("h", None)]), "queue_not_found", dump)
