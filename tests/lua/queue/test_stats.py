"""hf_queue_stats."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.queues import GroupStats
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import push, read, read_one, refused, settle


async def test_every_pushed_message_is_counted_once(engine: Engine, clock: Clock) -> None:
    """One in each state, one for each end."""
    await engine.queues.define("q", lock_ms=60_000, dead_letter="dead")
    await push(engine, *[b"1"] * 3)
    await engine.queues.purge("q")
    await push(engine, b"1", ttl_ms=1_000)
    await clock.advance(1_000)
    await push(engine, *[b"1"] * 5)
    acked, rejected, retried, *_ = await read(engine, 4)
    await settle(engine, "ack", acked)
    await settle(engine, "reject", rejected)
    await settle(engine, "nack", retried, delay_ms=5_000)
    await push(engine, b"1", delay_ms=5_000)
    found = await engine.queues.stats("q")
    assert found.groups == {
        "default": GroupStats(
            pushed=10,
            ready=1,
            delayed=2,
            in_flight=1,
            acked=1,
            dead=1,
            dropped=0,
            expired=1,
            purged=3,
        )
    }
    assert (found.mode, found.owed) == ("work", 0)


async def test_an_expired_lock_is_not_in_flight(engine: Engine, clock: Clock) -> None:
    """Counts do not wait for a tick."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1")
    await read_one(engine)
    await clock.advance(1_000)
    found = (await engine.queues.stats("q")).groups["default"]
    assert (found.ready, found.in_flight) == (1, 0)


async def test_blocked_messages_are_ready(engine: Engine) -> None:
    """They wait for nothing but their turn."""
    await engine.queues.define("q")
    await push(engine, b"1", b"2", b"3", key="k")
    await read_one(engine)
    found = (await engine.queues.stats("q")).groups["default"]
    assert (found.ready, found.in_flight) == (2, 1)


async def test_a_fanout_queue_counts_messages_and_each_group_its_own(engine: Engine) -> None:
    """The queue: stored and collected; a group that came late has fewer."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "a")
    await push(engine, b"1", b"2")
    await settle(engine, "ack", await read_one(engine, group="a"))
    await engine.queues.add_group("q", "b")
    await push(engine, b"3")
    found = await engine.queues.stats("q")
    assert (found.pushed, found.stored, found.collected) == (3, 2, 1)
    assert (found.groups["a"].pushed, found.groups["a"].ready) == (3, 2)
    assert (found.groups["b"].pushed, found.groups["b"].ready) == (2, 2)
    only = await engine.queues.stats("q", "b")
    assert only.groups.keys() == {"b"}


async def test_messages_of_one_id_that_expire_unread_count_each(
    engine: Engine, clock: Clock
) -> None:
    """The id is free for the second as soon as the first has expired."""
    await engine.queues.define("q", mode="fanout", dedup_window_ms=0)
    await engine.queues.add_group("q", "a")
    for _ in range(2):
        await push(engine, b"1", id="b", ttl_ms=500)
        await clock.advance(500)
    assert (await engine.queues.stats("q")).groups["a"].expired == 2
    await push(engine, b"2")
    await read_one(engine, group="a")
    found = (await engine.queues.stats("q")).groups["a"]
    assert (found.pushed, found.expired, found.in_flight) == (3, 2, 1)


async def test_unknown_names_are_refused(engine: Engine, dump: Dump) -> None:
    """Queue and group."""
    await engine.queues.define("q")
    await refused(engine.queues.stats("nowhere"), "queue_not_found", dump)
    await refused(engine.queues.stats("q", "nobody"), "group_not_found", dump)
