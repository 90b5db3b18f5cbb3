"""hf_queue_push."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.engine import Engine
from holdfast.errors import HoldfastError
from holdfast.model.messages import NewMessage, Pushed
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import call_twice, codes, counts, payloads, push, read, refused, settle


async def test_messages_come_out_in_the_order_of_arrival(engine: Engine) -> None:
    """Over several calls at one moment, too."""
    await engine.queues.define("q")
    for n in range(12):
        await push(engine, b"%d" % n)
    assert await payloads(engine, 12) == [b"%d" % n for n in range(12)]


async def test_both_ends_can_be_pushed_and_read(engine: Engine) -> None:
    """The left end is the front; the last one pushed there is the first."""
    await engine.queues.define("q")
    await push(engine, b"3", b"4")
    await push(engine, b"2", b"1", side="left")
    assert await payloads(engine, 1, side="right") == [b"4"]
    assert await payloads(engine) == [b"1", b"2", b"3"]


async def test_higher_priority_goes_first_and_waiting_makes_up_for_it(
    engine: Engine, clock: Clock
) -> None:
    """A point is worth `ageing_ms`: the low one moves ahead of a newer high one."""
    await engine.queues.define("q", priority=True, ageing_ms=1_000)
    await push(engine, b"low")
    await push(engine, b"high", priority=2)
    await push(engine, b"lowest", priority=-5)
    await clock.advance(3_000)
    await push(engine, b"newer high", priority=2)
    assert await payloads(engine) == [b"high", b"low", b"newer high", b"lowest"]


async def test_priority_means_nothing_where_it_is_not_asked_for(engine: Engine) -> None:
    """A plain queue is first in, first out."""
    await engine.queues.define("q")
    await push(engine, b"1")
    await push(engine, b"2", priority=1_000)
    assert await payloads(engine) == [b"1", b"2"]


async def test_a_delayed_message_arrives_when_it_is_due(engine: Engine, clock: Clock) -> None:
    """It takes its place then: behind what came meanwhile."""
    await engine.queues.define("q")
    await push(engine, b"late", delay_ms=1_000)
    await push(engine, b"early")
    await clock.advance(999)
    assert await counts(engine) == {"ready": 1, "delayed": 1}
    await clock.advance(1)
    assert await payloads(engine) == [b"early", b"late"]


@pytest.mark.parametrize("where", ["ready", "delayed", "retry", "queue's ttl"])
async def test_a_message_expires_where_it_waits(engine: Engine, clock: Clock, where: str) -> None:
    """Its own time counts before the queue's."""
    await engine.queues.define("q", ttl_ms=1_000 if where == "queue's ttl" else 60_000)
    own = None if where == "queue's ttl" else 1_000
    await push(engine, b"1", ttl_ms=own, delay_ms=5_000 if where == "delayed" else 0)
    if where == "retry":
        await settle(engine, "nack", *await read(engine), delay_ms=9_000)
    await clock.advance(999)
    assert sum((await counts(engine)).values()) == 1
    assert "expired" not in await counts(engine)
    await clock.advance(1)
    assert await counts(engine) == {"expired": 1}


async def test_a_message_in_flight_expires_when_it_comes_back(engine: Engine, clock: Clock) -> None:
    """Its consumer may still ack it."""
    await engine.queues.define("q", lock_ms=10_000)
    await push(engine, b"1", b"2", ttl_ms=1_000)
    first, second = await read(engine)
    await clock.advance_and_tick(2_000)
    assert await codes(settle(engine, "ack", first)) == ["ok"]
    assert await codes(settle(engine, "nack", second)) == ["ok"]
    assert await counts(engine) == {"acked": 1, "expired": 1}


async def test_a_full_queue_refuses_item_by_item(engine: Engine) -> None:
    """At its limit exactly; delayed messages and those in flight count."""
    await engine.queues.define("q", max_size=3)
    await push(engine, b"1", delay_ms=1_000)
    await push(engine, b"2")
    (held,) = await read(engine)
    items = [NewMessage(payload=b"3"), NewMessage(payload=b"4")]
    assert await codes(engine.queues.push_many("q", items)) == ["ok", "queue_full"]
    await settle(engine, "ack", held)
    assert await codes(engine.queues.push_many("q", items[1:])) == ["ok"]


async def test_a_known_id_is_a_duplicate_even_when_it_was_consumed(
    engine: Engine, clock: Clock
) -> None:
    """Within the window; afterwards it is new."""
    await engine.queues.define("q", dedup_window_ms=5_000)
    await push(engine, b"1", id="a")
    await settle(engine, "ack", *await read(engine))
    await clock.advance(4_999)
    assert await engine.queues.push("q", b"1", id="a") == Pushed("a", duplicate=True)
    await clock.advance(1)
    assert await engine.queues.push("q", b"1", id="a") == Pushed("a")
    assert await counts(engine) == {"ready": 1, "acked": 1}


async def test_a_dedup_key_leads_to_the_first_id(engine: Engine) -> None:
    """Also inside one batch."""
    await engine.queues.define("q")
    items = [NewMessage(payload=b"1", dedup="d"), NewMessage(payload=b"1", dedup="d")]
    first, second = await engine.queues.push_many("q", items)
    assert isinstance(first, Pushed)
    assert second == Pushed(first.id, duplicate=True)


@pytest.mark.parametrize("by", ["id", "dedup", "stored id after the window", "other key"])
async def test_another_body_under_the_same_name_is_a_conflict(
    engine: Engine, clock: Clock, dump: Dump, by: str
) -> None:
    """It is neither swallowed nor stored."""
    await engine.queues.define("q", dedup_window_ms=5_000)
    name = {"dedup": "n"} if by == "dedup" else {"id": "n"}
    await engine.queues.push("q", b"1", **name)
    if by == "stored id after the window":
        await clock.advance_and_tick(6_000)
    changed = {"key": "k"} if by == "other key" else {}
    call = engine.queues.push("q", b"1" if changed else b"2", **name, **changed)
    await refused(call, "dedup_conflict", dump)


async def test_no_window_means_no_memory(engine: Engine) -> None:
    """Only ids of stored messages stay unique."""
    await engine.queues.define("q", dedup_window_ms=0)
    await push(engine, b"1", id="a")
    assert (await engine.queues.push("q", b"1", id="a")).duplicate
    await settle(engine, "ack", *await read(engine))
    assert not (await engine.queues.push("q", b"2", id="a")).duplicate
    await engine.queues.push("q", b"1", dedup="d")
    assert not (await engine.queues.push("q", b"1", dedup="d")).duplicate


async def test_memory_of_ids_is_given_back(engine: Engine, clock: Clock, dump: Dump) -> None:
    """After the window nothing of a consumed message is left but counts."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1", id="a", key="k", ttl_ms=1_000)
    await settle(engine, "ack", *await read(engine))
    await clock.advance_and_tick(300_000)
    tag = engine.store.queue_tag("q")
    left = {key.removeprefix(f"{tag}:") for key in dump() if key.startswith(tag)}
    assert left == {"queue", "groups", "tally:", "tally:default"}


async def test_a_window_ends_in_time_though_many_end_together(engine: Engine, clock: Clock) -> None:
    """A call forgets 100 keys, and ignores the others that are over."""
    await engine.queues.define("q", dedup_window_ms=1_000)
    items = [NewMessage(payload=b"1", dedup=f"d{n:03}") for n in range(120)]
    await engine.queues.push_many("q", items)
    await clock.advance(1_000)
    assert not (await engine.queues.push("q", b"1", dedup="d119")).duplicate


async def test_a_lost_reply_pushes_once(store: Store, engine: Engine, dump: Dump) -> None:
    """The repeated call gets the first answers, refusals too, whatever happened since."""
    await engine.queues.define("q", max_size=1)
    item = msgspec.msgpack.encode({"id": "m"})
    args = ("r1", item, b"1", msgspec.msgpack.encode({"id": "n"}), b"2")
    first, second = await call_twice(store, "hf_queue_push", "q", *args)
    assert first == second == [[b"ok"], [b"no", b"queue_full"]]
    await settle(engine, "ack", *await read(engine))
    before = dump()
    tag = store.queue_tag("q")
    assert await store.caller.write("hf_queue_push", tag, *args) == first
    assert dump() == before


async def test_an_unknown_queue_is_refused(engine: Engine, dump: Dump) -> None:
    """Nothing is created by pushing."""
    await refused(engine.queues.push("nowhere", b"1"), "queue_not_found", dump)


async def test_a_thousand_messages_are_pushed_in_order(engine: Engine) -> None:
    """Large batches are split, and stay in order."""
    await engine.queues.define("q")
    items = [NewMessage(payload=b"%d" % n) for n in range(1_000)]
    answers = await engine.queues.push_many("q", items)
    assert not [answer for answer in answers if isinstance(answer, HoldfastError)]
    assert await payloads(engine, 1_000) == [b"%d" % n for n in range(1_000)]
