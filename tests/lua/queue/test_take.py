"""hf_queue_take."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.messages import LetterFilter
from holdfast.queues.outbox import QueueOutboxes
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import (
    call_twice,
    counts,
    payloads,
    push,
    read,
    read_one,
    refused,
    settle,
)


async def _bury(engine: Engine, queue: str, *bodies: bytes, reason: str = "") -> None:
    await engine.queues.define(queue, max_attempts=1, dead_letter="dead")
    await push(engine, *bodies, queue=queue)
    held = await read(engine, queue=queue)
    await settle(engine, "nack", *held, queue=queue, reason=reason)


async def test_ready_messages_move_in_their_order(engine: Engine) -> None:
    """Blocked ones too; those in flight and delayed stay. Attempts start anew."""
    for name in ("q", "other"):
        await engine.queues.define(name)
    await push(engine, b"1")
    await read_one(engine)
    await push(engine, b"2", b"3", key="k")
    await push(engine, b"4")
    await push(engine, b"5", delay_ms=1_000)
    await settle(engine, "release", *await read(engine, 1))
    assert await engine.queues.move("q", "other", 10, dry_run=True) == 3
    assert await engine.queues.move("q", "other", 10) == 3
    assert await counts(engine) == {"delayed": 1, "in_flight": 1, "acked": 3}
    found = await read(engine, queue="other")
    assert [(d.message.payload, d.message.attempt) for d in found] == [(b"2", 1), (b"4", 1)]
    await settle(engine, "ack", *found, queue="other")
    assert await payloads(engine, queue="other") == [b"3"]


async def test_a_limit_is_kept_over_many_calls(engine: Engine) -> None:
    """The first ones go."""
    for name in ("q", "other"):
        await engine.queues.define(name)
    await push(engine, *[b"%d" % n for n in range(600)])
    assert await engine.queues.move("q", "other", 555) == 555
    assert await payloads(engine, 1) == [b"555"]
    assert await payloads(engine, 1, queue="other") == [b"0"]


async def test_dead_letters_go_back_to_where_they_came_from(engine: Engine) -> None:
    """Each to its origin, without its envelope, with a new budget."""
    await _bury(engine, "a", b"1")
    await _bury(engine, "b", b"2")
    await push(engine, b"pushed here", queue="dead")
    assert await engine.queues.redrive("dead") == 2
    for queue, payload in (("a", b"1"), ("b", b"2")):
        again = await read_one(engine, queue=queue)
        assert (again.message.payload, again.message.attempt) == (payload, 1)
        assert again.message.dead_letter is None
    assert await counts(engine, "dead") == {"ready": 1, "acked": 2}


async def test_a_redriven_message_is_for_the_group_that_gave_it_up(engine: Engine) -> None:
    """Groups that are done with it do not get it again."""
    await engine.queues.define("q", mode="fanout", max_attempts=1, dead_letter="dead")
    for group in ("good", "bad", "slow"):
        await engine.queues.add_group("q", group)
    await push(engine, b"1", id="m")
    await settle(engine, "ack", await read_one(engine, group="good"))
    await settle(engine, "nack", await read_one(engine, group="bad"))
    assert await engine.queues.redrive("dead") == 1
    assert await payloads(engine, group="good") == []
    assert await payloads(engine, group="bad") == [b"1"]
    assert await payloads(engine, group="slow") == [b"1"]
    for group in ("good", "bad", "slow"):
        await counts(engine, group=group)


async def test_only_letters_that_fit_are_redriven(engine: Engine) -> None:
    """By origin, by group, by part of the reason."""
    await _bury(engine, "a", b"1", reason="timed out after 5 s")
    await _bury(engine, "b", b"2", reason="timed out after 9 s")
    await _bury(engine, "b", b"3", reason="no such customer")
    for wanted, expected in (
        (LetterFilter(origin="a"), 1),
        (LetterFilter(group="default"), 3),
        (LetterFilter(group="billing"), 0),
        (LetterFilter(reason="timed out"), 2),
        (LetterFilter(origin="b", reason="timed out"), 1),
        (LetterFilter(reason="(.*)"), 0),
    ):
        assert await engine.queues.redrive("dead", wanted=wanted, dry_run=True) == expected
    assert await engine.queues.redrive("dead", to="a", wanted=LetterFilter(reason="timed")) == 2
    assert await counts(engine, "dead") == {"ready": 1, "acked": 2}
    assert (await engine.queues.stats("a")).stored == 2


async def test_a_message_that_is_over_does_not_move(engine: Engine, clock: Clock) -> None:
    """Even if more are over at once than a call expires by their timers."""
    for name in ("q", "other"):
        await engine.queues.define(name)
    await push(engine, *[b"old"] * 150, ttl_ms=1_000)
    await push(engine, b"new")
    await clock.advance(1_000)
    assert await engine.queues.move("q", "other", 10) == 1
    assert await payloads(engine, queue="other") == [b"new"]
    assert await counts(engine) == {"expired": 150, "acked": 1}


async def test_a_moved_message_keeps_its_time(engine: Engine, clock: Clock) -> None:
    """A producer or a queue gave it; one without gets that of the queue that it comes to."""
    await engine.queues.define("q", ttl_ms=60_000)
    await engine.queues.define("plain")
    await push(engine, b"its own", ttl_ms=2_000)
    await push(engine, b"the queue's")
    await push(engine, b"none", queue="plain")
    await clock.advance(1_000)
    assert await engine.queues.move("plain", "q", 10) == 1
    assert await engine.queues.move("q", "plain", 10) == 3
    await clock.advance_and_tick(1_000)
    assert await counts(engine, "plain") == {"ready": 2, "acked": 1, "expired": 1}
    await clock.advance_and_tick(58_000)
    assert await counts(engine, "plain") == {"ready": 1, "acked": 1, "expired": 2}
    await clock.advance_and_tick(1_000)
    assert await counts(engine, "plain") == {"acked": 1, "expired": 3}


async def test_a_time_that_ends_on_the_way_has_ended(
    store: Store, engine: Engine, clock: Clock
) -> None:
    """However long it takes until a move is delivered, nobody gets what is over."""
    for name in ("q", "other"):
        await engine.queues.define(name)
    await push(engine, b"1", ttl_ms=1_000)
    await call_twice(store, "hf_queue_take", "q", "r1", "other", "1", "0", "", "", "", "")
    await clock.advance(1_000)
    await QueueOutboxes(store).deliver("q")
    assert await payloads(engine, queue="other") == []
    assert await counts(engine, "other") == {"expired": 1}


async def test_dead_letters_have_no_time(engine: Engine, clock: Clock) -> None:
    """They stay, as does what is moved to them; what is redriven gets the time of its queue."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead", ttl_ms=5_000)
    await engine.queues.define("other")
    await push(engine, b"1", ttl_ms=1_000)
    await push(engine, b"2", queue="other", ttl_ms=1_000)
    await settle(engine, "nack", *await read(engine))
    assert await engine.queues.move("other", "dead", 1) == 1
    await clock.advance_and_tick(10_000)
    assert await counts(engine, "dead") == {"ready": 2}
    assert await engine.queues.redrive("dead") == 1
    await clock.advance_and_tick(4_999)
    assert await counts(engine) == {"ready": 1, "dead": 1}
    await clock.advance_and_tick(1)
    assert await counts(engine) == {"dead": 1, "expired": 1}


async def test_a_lost_reply_takes_once(store: Store, engine: Engine) -> None:
    """The repeated call gets the first answer."""
    for name in ("q", "other"):
        await engine.queues.define(name)
    await push(engine, b"1", b"2")
    args = ("r1", "other", "1", "0", "", "", "", "")
    first, second = await call_twice(store, "hf_queue_take", "q", *args)
    assert first == second
    assert (await engine.queues.stats("q")).owed == 1


async def test_wrong_queues_are_refused(engine: Engine, dump: Dump) -> None:
    """Unknown ones, a FANOUT source, and a queue into itself."""
    await engine.queues.define("q")
    await engine.queues.define("f", mode="fanout")
    await refused(engine.queues.move("q", "nowhere", 1), "queue_not_found", dump)
    await refused(engine.queues.move("nowhere", "q", 1), "queue_not_found", dump)
    await refused(engine.queues.move("f", "q", 1), "queue_conflict", dump)
    await refused(engine.queues.move("q", "q", 1), "invalid_input", dump)
    await refused(engine.queues.redrive("nowhere"), "queue_not_found", dump)


async def test_a_dead_letter_comes_back_behind_what_its_group_has_yet_to_take_in(
    engine: Engine,
) -> None:
    """A group of a FANOUT queue reads in the order of arrival, and a redrive is an arrival."""
    await engine.queues.define("q", mode="fanout", max_attempts=1, dead_letter="dead")
    await engine.queues.add_group("q", "g")
    await push(engine, b"1")
    held = await read(engine, group="g")
    await push(engine, b"2")
    await settle(engine, "nack", *held)
    assert await engine.queues.redrive("dead") == 1
    found = await engine.queues.peek("q", group="g", count=10)
    assert [message.payload for message in found] == [b"2", b"1"]
    assert await payloads(engine, 1, group="g") == [b"2"]


async def test_messages_of_one_rank_are_not_passed_over(engine: Engine) -> None:
    """Also where a call ends between them."""
    for name in ("q", "other"):
        await engine.queues.define(name)
    await push(engine, *[b"%d" % n for n in range(250)])
    key = f"{engine.store.queue_tag('q')}:open:default"
    rows = await engine.store.client.call(("ZRANGE", key, "0", "-1"))
    for row in rows[50:200]:
        await engine.store.client.call(("ZADD", key, "7", row))
    assert await engine.queues.move("q", "other", 300, dry_run=True) == 250
    assert await engine.queues.move("q", "other", 250) == 250


async def test_letters_behind_many_others_are_found(engine: Engine) -> None:
    """A page without one that is wanted is not the end."""
    await _bury(engine, "a", b"1", reason="first")
    await push(engine, *[b"x"] * 600, queue="dead")
    await _bury(engine, "b", b"2", reason="wanted")
    assert await engine.queues.redrive("dead", wanted=LetterFilter(reason="wanted")) == 1
