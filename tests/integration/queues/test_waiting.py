"""Blocking reads: whatever makes a message available wakes whoever waits for it.

The tests with a settable clock wait for a wake-up by the store only: the next due time, by which
a read would look again by itself, never comes on a clock that stands still.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.errors import ReadCancelled
from holdfast.model.deliveries import Delivery
from holdfast.queues import readers
from holdfast.queues.outbox import QueueOutboxes
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support.queues import counts, push, read, read_one, settle

#: Far below the poll, far above a busy machine's noise.
SOON_S = 1.0

Held = list[Delivery]
Change = Callable[[Engine, Clock, Held], Awaitable[object]]


async def _prepare(engine: Engine) -> Held:
    """Leave nothing ready: one of a key in flight and one behind it, one delayed."""
    await engine.queues.define("q", lock_ms=60_000, max_in_flight=2, max_attempts=5)
    await engine.queues.define("other")
    await push(engine, b"1", b"2", key="k")
    held = [await read_one(engine)]
    await push(engine, b"later", delay_ms=10_000)
    await push(engine, b"x")
    held.append(await read_one(engine))
    return held


async def _push(engine: Engine, _clock: Clock, held: Held) -> None:
    await settle(engine, "ack", held[1])
    await push(engine, b"new")


async def _move(engine: Engine, _clock: Clock, held: Held) -> None:
    await settle(engine, "ack", held[1])
    await push(engine, b"moved", queue="other")
    await engine.queues.move("other", "q", 1)


async def _expire(engine: Engine, clock: Clock, _held: Held) -> None:
    await clock.advance(60_000)
    await engine.store.queues.tick("q", 10)


async def _fall_due(engine: Engine, clock: Clock, held: Held) -> None:
    await settle(engine, "ack", held[1])
    await clock.advance(10_000)
    await engine.store.queues.tick("q", 10)


async def _resume(engine: Engine, _clock: Clock, held: Held) -> None:
    await engine.queues.pause("q")
    await settle(engine, "release", held[1])
    await engine.queues.resume("q")


CHANGES: dict[str, Change] = {
    "push": _push,
    "nack": lambda engine, _, held: settle(engine, "nack", held[0], delay_ms=0),
    "release": lambda engine, _, held: settle(engine, "release", held[0]),
    "an ack that frees a key": lambda engine, _, held: settle(engine, "ack", held[0]),
    "a reject that frees a key": lambda engine, _, held: settle(engine, "reject", held[0]),
    "an expired lock": _expire,
    "a delay that is due": _fall_due,
    "move": _move,
    "resume": _resume,
}


@pytest.mark.parametrize("what", CHANGES)
async def test_a_waiting_reader_is_woken_by(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """No poll helps here: it is an hour away."""
    monkeypatch.setattr(readers, "POLL_S", 3_600.0)
    held = await _prepare(engine)
    reading = asyncio.ensure_future(read(engine, 1, consumer="waiter", wait_ms=60_000))
    await _asleep(engine)
    await CHANGES[what](engine, clock, held)
    async with asyncio.timeout(10):
        assert len(await reading) == 1


async def _asleep(engine: Engine) -> None:
    async def asleep() -> bool:
        waiters = engine.queues._readers._waiters.values()
        return any(event._waiters for events in waiters for event in events)

    await wait_for(asleep)


async def test_every_waiting_reader_gets_one_of_as_many_messages(engine: Engine) -> None:
    """Nobody sleeps while there is work, and nobody gets what another has."""
    await engine.queues.define("q")
    readers = [
        asyncio.ensure_future(read(engine, 1, consumer=f"c{n}", wait_ms=30_000)) for n in range(5)
    ]
    await _asleep(engine)
    await push(engine, *[b"%d" % n for n in range(5)])
    async with asyncio.timeout(10):
        found = await asyncio.gather(*readers)
    assert sorted(d.message.payload for one in found for d in one) == [b"0", b"1", b"2", b"3", b"4"]


async def test_the_end_of_the_time_is_no_cancellation(engine: Engine) -> None:
    """A time-out is an empty answer; closing is an error, and neither takes a message."""
    await engine.queues.define("q")
    assert await read(engine, wait_ms=20) == []
    reading = asyncio.ensure_future(read(engine, wait_ms=60_000))
    stopped = asyncio.ensure_future(read(engine, wait_ms=60_000, stop=lambda: bool(stop)))
    stop: list[int] = []
    await _asleep(engine)
    stop.append(1)
    engine.queues.wake("q")
    with pytest.raises(ReadCancelled):
        await stopped
    await engine.queues.close()
    with pytest.raises(ReadCancelled):
        await reading


async def test_a_cancelled_caller_keeps_no_message(engine: Engine) -> None:
    """What was handed out to it while it was cancelled is ready again at once."""
    await engine.queues.define("q")
    await push(engine, b"1", b"2")
    reading = asyncio.ensure_future(read(engine))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await engine.queues._returns.close()
    assert await counts(engine) == {"ready": 2}


async def test_a_cancelled_take_over_keeps_no_message(engine: Engine) -> None:
    """What it got is ready again at once, as with a read."""
    await engine.queues.define("q")
    await push(engine, b"1")
    await read_one(engine)
    claiming = asyncio.ensure_future(engine.queues.claim("q", consumer="other", min_idle_ms=0))
    await asyncio.sleep(0)
    claiming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claiming
    await engine.queues._returns.close()
    assert await counts(engine) == {"ready": 1}


async def test_a_caller_that_is_cancelled_while_letters_are_sent_keeps_no_message(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that gave up messages sends them on; what it got besides is not forgotten."""
    await engine.queues.define("q", max_attempts=2, dead_letter="dead")
    await push(engine, b"1")
    await settle(engine, "nack", await read_one(engine))
    await push(engine, b"2")
    sending, go_on = asyncio.Event(), asyncio.Event()
    deliver = QueueOutboxes.deliver

    async def slowly(outboxes: QueueOutboxes, name: str) -> int:
        sending.set()
        await go_on.wait()
        return await deliver(outboxes, name)

    monkeypatch.setattr(QueueOutboxes, "deliver", slowly)
    # As if another call had left letters.
    engine.store.queues._note("q", 1)
    reading = asyncio.ensure_future(read(engine, 1))
    await sending.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    go_on.set()
    await engine.queues._returns.close()
    assert (await counts(engine)).get("in_flight") is None


async def test_delays_and_locks_end_on_time_with_the_real_clock(real_url: str) -> None:
    """Without any maintenance: a reader knows when something is due."""
    async with open_engine(real_url, maintenance=False) as engine:
        await engine.queues.define("q", lock_ms=150)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await push(engine, b"1", delay_ms=100)
        first = await read_one(engine, wait_ms=10_000)
        assert 0.09 <= loop.time() - started < SOON_S
        started = loop.time()
        again = await read_one(engine, wait_ms=10_000)
        assert 0.14 <= loop.time() - started < SOON_S
        assert (first.message.attempt, again.message.attempt) == (1, 2)


async def test_maintenance_counts_and_delivers_without_any_reader(real_url: str) -> None:
    """A queue that nobody reads: its last attempt expires and becomes a dead letter."""
    async with open_engine(real_url) as engine:
        await engine.queues.define("q", lock_ms=100, max_attempts=1, dead_letter="dead")
        await push(engine, b"1")
        await read_one(engine)
        (letter,) = await read(engine, queue="dead", wait_ms=10_000)
        assert letter.message.payload == b"1"
