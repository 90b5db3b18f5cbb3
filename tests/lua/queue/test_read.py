"""hf_queue_read."""

from __future__ import annotations

import pytest

from holdfast.engine import Engine
from holdfast.model.deliveries import Settle
from holdfast.model.moments import from_ms
from holdfast.store.queues import new_request
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import counts, payloads, push, read, read_one, refused, settle


async def test_a_delivery_says_all_about_its_message(engine: Engine, clock: Clock) -> None:
    """Payload as pushed, its attempt from 1, and the deadline by the store's clock."""
    await engine.queues.define("q", lock_ms=5_000)
    await push(engine, b"\x00\xff", id="m1", key="k")
    await clock.advance(1_000)
    delivery = await read_one(engine)
    message = delivery.message
    assert (message.id, message.payload, message.key) == ("m1", b"\x00\xff", "k")
    assert (message.attempt, message.dead_letter) == (1, None)
    assert message.enqueued_at == from_ms(clock.now_ms - 1_000)
    assert delivery.deadline == from_ms(clock.now_ms + 5_000)


async def test_every_hand_out_has_a_handle_of_its_own(engine: Engine) -> None:
    """At least 128 random bits; a second hand-out has another handle."""
    await engine.queues.define("q")
    await push(engine, b"1", b"2")
    first, second = await read(engine)
    await settle(engine, "nack", first)
    again = await read_one(engine)
    handles = {first.handle, second.handle, again.handle}
    assert len(handles) == 3
    assert all(len(bytes.fromhex(handle.split("-")[0])) >= 16 for handle in handles)
    assert again.message.attempt == 2


async def test_a_message_in_flight_is_nobody_elses(engine: Engine) -> None:
    """WORK: consumers share the messages."""
    await engine.queues.define("q")
    await push(engine, b"1", b"2", b"3")
    assert await payloads(engine, 2, consumer="a") == [b"1", b"2"]
    assert await payloads(engine, 2, consumer="b") == [b"3"]


async def test_an_expired_lock_gives_the_message_to_the_next(engine: Engine, clock: Clock) -> None:
    """Without any tick: reading looks for itself. Its place is kept."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1", b"2")
    await read_one(engine)
    await clock.advance(999)
    assert await payloads(engine, 1) == [b"2"]
    await clock.advance(1)
    again = await read_one(engine, consumer="b")
    assert (again.message.payload, again.message.attempt) == (b"1", 2)


async def test_one_message_of_a_key_is_in_flight_and_others_flow_past(engine: Engine) -> None:
    """In one batch, too; keys are independent of each other."""
    await engine.queues.define("q")
    for payload, key in ((b"a1", "a"), (b"a2", "a"), (b"b1", "b"), (b"x", None), (b"a3", "a")):
        await push(engine, payload, key=key)
    first = await read(engine)
    assert [d.message.payload for d in first] == [b"a1", b"b1", b"x"]
    await settle(engine, "ack", first[0])
    assert await payloads(engine) == [b"a2"]
    assert await counts(engine) == {"ready": 1, "in_flight": 3, "acked": 1}


async def test_a_key_waits_for_the_retry_of_its_first(engine: Engine, clock: Clock) -> None:
    """A retry delay blocks the key; a dead letter frees it."""
    await engine.queues.define("q", max_attempts=2)
    await push(engine, b"1", b"2", key="k")
    await settle(engine, "nack", await read_one(engine), delay_ms=1_000)
    assert await payloads(engine) == []
    await clock.advance(1_000)
    again = await read_one(engine)
    assert again.message.payload == b"1"
    await settle(engine, "nack", again)
    assert await payloads(engine) == [b"2"]


async def test_a_message_pushed_left_stands_before_its_key(engine: Engine) -> None:
    """The first of a line may change while nobody has it."""
    await engine.queues.define("q")
    await push(engine, b"2", key="k")
    await push(engine, b"1", key="k", side="left")
    for expected in (b"1", b"2"):
        found = await read_one(engine)
        assert found.message.payload == expected
        await settle(engine, "ack", found)


async def test_caps_hold_at_their_limits(engine: Engine, clock: Clock) -> None:
    """Per group and per consumer; what expires makes room."""
    await engine.queues.define("q", lock_ms=1_000, max_in_flight=3, max_in_flight_per_consumer=2)
    await push(engine, *[b"1"] * 10)
    held = await read(engine, consumer="a")
    assert len(held) == 2
    assert len(await read(engine, consumer="a")) == 0
    assert len(await read(engine, consumer="b")) == 1
    assert len(await read(engine, consumer="c")) == 0
    await settle(engine, "ack", held[0])
    assert len(await read(engine, consumer="c")) == 1
    await clock.advance(1_000)
    assert len(await read(engine, consumer="a")) == 2


async def test_groups_of_a_fanout_queue_are_independent(engine: Engine, clock: Clock) -> None:
    """Each gets all messages; a delay or a failure of one is no other's."""
    await engine.queues.define("q", mode="fanout", max_attempts=2)
    for group in ("a", "b"):
        await engine.queues.add_group("q", group)
    await push(engine, b"1", b"2")
    await settle(engine, "nack", await read_one(engine, group="a"), delay_ms=1_000)
    assert await payloads(engine, group="b") == [b"1", b"2"]
    assert await payloads(engine, group="a") == [b"2"]
    await clock.advance(1_000)
    again = await read_one(engine, group="a")
    assert (again.message.payload, again.message.attempt) == (b"1", 2)


async def test_a_fanout_message_goes_when_every_group_is_done(engine: Engine) -> None:
    """And not before; a crash loop of one group ends by its own budget."""
    await engine.queues.define("q", mode="fanout", max_attempts=1)
    for group in ("a", "b"):
        await engine.queues.add_group("q", group)
    await push(engine, b"1")
    await settle(engine, "ack", await read_one(engine, group="a"))
    assert (await engine.queues.stats("q")).stored == 1
    await settle(engine, "nack", await read_one(engine, group="b"))
    found = await engine.queues.stats("q")
    assert (found.stored, found.collected) == (0, 1)
    assert (found.groups["a"].acked, found.groups["b"].dropped) == (1, 1)


async def test_an_unread_fanout_message_expires_for_every_group(
    engine: Engine, clock: Clock
) -> None:
    """Whether a group has come to it or not; one that has it in flight may finish."""
    await engine.queues.define("q", mode="fanout", lock_ms=10_000)
    for group in ("flight", "ready", "unread"):
        await engine.queues.add_group("q", group)
    await push(engine, b"1", ttl_ms=1_000)
    await push(engine, b"2")
    held = (await read(engine, 1, group="flight"))[0]
    await settle(engine, "release", *await read(engine, 1, group="ready"))
    await clock.advance(1_000)
    assert await counts(engine, group="flight") == {"ready": 1, "in_flight": 1}
    for group in ("ready", "unread"):
        assert await counts(engine, group=group) == {"ready": 1, "expired": 1}
        assert await payloads(engine, group=group) == [b"2"]
        assert (await counts(engine, group=group))["expired"] == 1
    await settle(engine, "ack", held)
    found = await engine.queues.stats("q")
    assert (found.stored, found.expired) == (1, 1)


@pytest.mark.parametrize("side", ["left", "right"])
async def test_a_fanout_group_reads_both_ends_and_by_priority(engine: Engine, side: str) -> None:
    """One order for all ways to read, in both modes."""
    await engine.queues.define("q", mode="fanout", priority=True)
    await engine.queues.add_group("q", "g")
    await push(engine, b"2", b"3")
    await push(engine, b"1", priority=1)
    await push(engine, b"0", side="left")
    expected = [b"0", b"1", b"2", b"3"]
    if side == "right":
        expected.reverse()
    found = [await payloads(engine, 1, group="g", side=side) for _ in range(4)]
    assert found == [[payload] for payload in expected]


async def test_a_lost_reply_hands_out_once(store: Store, engine: Engine, dump: Dump) -> None:
    """The repeated read returns the same deliveries, as far as they are held; nothing is owed."""
    await engine.queues.define("q")
    await push(engine, b"1", b"2", b"3")
    request = new_request()

    async def again() -> list[str]:
        found, _ = await store.queues.read("q", group="", consumer="c", count=2, request=request)
        return [delivery.handle for delivery in found]

    first = await again()
    before = dump()
    assert await again() == first
    assert dump() == before
    assert len(first) == 2
    assert not store.queues.take_unsent("q")
    await engine.queues.ack("q", first[0])
    assert await again() == first[1:]


async def test_it_says_when_there_may_be_more(store: Store, engine: Engine, clock: Clock) -> None:
    """The next due time of anything: a delay, a lock, a retry."""
    await engine.queues.define("q", lock_ms=9_000)

    async def wait_ms() -> int | None:
        return (await store.queues.read("q", group="", consumer="c", count=1))[1]

    assert await wait_ms() is None
    await push(engine, b"1", delay_ms=5_000)
    assert await wait_ms() == 5_000
    await clock.advance(5_000)
    held = await read_one(engine)
    assert await wait_ms() == 9_000
    await settle(engine, "nack", held, delay_ms=2_000)
    assert await wait_ms() == 2_000


async def test_a_lowered_budget_counts_at_the_next_hand_out(engine: Engine) -> None:
    """The budget is the definition's as it is now."""
    await engine.queues.define("q", max_attempts=3)
    await push(engine, b"1", b"2")
    await settle(engine, "release", await read_one(engine))
    await engine.queues.define("q", max_attempts=1)
    assert await payloads(engine) == [b"2"]
    assert await counts(engine) == {"in_flight": 1, "dropped": 1}


async def test_unknown_names_are_refused(engine: Engine, dump: Dump) -> None:
    """A FANOUT queue wants a group by name; a WORK queue has `default` only."""
    await engine.queues.define("w")
    await engine.queues.define("f", mode="fanout")
    await refused(read(engine, queue="nowhere"), "queue_not_found", dump)
    await refused(read(engine, queue="w", group="billing"), "group_not_found", dump)
    await refused(read(engine, queue="f"), "group_not_found", dump)
    await refused(read(engine, queue="f", group="g"), "group_not_found", dump)


async def test_a_repeated_read_says_that_something_is_owed(store: Store, engine: Engine) -> None:
    """The dead letter of another call, for example."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1", b"2")
    args = ("hf_queue_read", store.queue_tag("q"), "", new_request(), "c1", "1", "")
    assert (await store.caller.write(*args))[0] == 0
    (other,) = await read(engine, 1)
    await store.queues.settle("q", "nack", [Settle(handle=other.handle)])
    assert (await store.caller.write(*args))[0] == 1


async def test_a_repeated_read_that_only_gave_up_messages_changes_nothing(
    store: Store, engine: Engine, dump: Dump
) -> None:
    """Found by the state machine: the second read took the dead letter's timer for its own."""
    await engine.queues.define("q", max_attempts=2, dead_letter="dead")
    await push(engine, b"1")
    await settle(engine, "nack", await read_one(engine))
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    args = ("hf_queue_read", store.queue_tag("q"), "", new_request(), "c1", "1", "")
    assert await store.caller.write(*args) == [1, 0]
    before = dump()
    # Nothing says when there may be more: the consumer looks again at once.
    assert await store.caller.write(*args) == [1, 0]
    assert dump() == before


async def test_a_repeated_read_that_found_nothing_looks_again(
    store: Store, engine: Engine, dump: Dump
) -> None:
    """An empty read leaves nothing behind; one that found a message returns it again."""
    await engine.queues.define("q")
    args = ("hf_queue_read", store.queue_tag("q"), "", new_request(), "c1", "1", "")
    before = dump()
    assert await store.caller.write(*args) == [0, b""]
    assert dump() == before
    await push(engine, b"1")
    _, _, delivery = await store.caller.write(*args)
    assert b"1" in delivery
    assert (await store.caller.write(*args))[2:] == [delivery]


async def test_a_read_passes_over_any_number_of_expired_messages(
    engine: Engine, clock: Clock
) -> None:
    """Lua passes at most some thousand values to a command, and what was taken must be counted."""
    await engine.queues.define("q")
    for _ in range(9):
        await push(engine, *[b"old"] * 1_000, ttl_ms=1_000)
    await push(engine, b"new")
    await clock.advance(1_000)
    assert await payloads(engine, 1_000) == [b"new"]
    assert await counts(engine) == {"in_flight": 1, "expired": 9_000}
