"""hf_queue_group."""

from __future__ import annotations

from datetime import timedelta

from holdfast.engine import Engine
from holdfast.model.messages import Start
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import call_twice, counts, payloads, push, refused


async def test_a_group_starts_where_it_is_told(engine: Engine, clock: Clock) -> None:
    """At the first stored message, at the end, after a message, or at a time."""
    await engine.queues.define("q", mode="fanout")
    (first,) = await push(engine, b"1")
    await clock.advance(1_000)
    await push(engine, b"2")
    starts = {
        "first": Start(),
        "end": Start(place="end"),
        "after": Start(place="after", after=first),
        "at": Start(place="at", at=clock.now),
        "before": Start(place="at", at=clock.now - timedelta(milliseconds=1_000)),
        "future": Start(place="at", at=clock.now + timedelta(days=1)),
    }
    for group, start in starts.items():
        assert await engine.queues.add_group("q", group, start) is True
    await push(engine, b"3")
    found = {group: await payloads(engine, group=group) for group in starts}
    assert found == {
        "first": [b"1", b"2", b"3"],
        "end": [b"3"],
        "after": [b"2", b"3"],
        "at": [b"2", b"3"],
        "before": [b"1", b"2", b"3"],
        "future": [b"3"],
    }


async def test_counts_begin_with_what_the_group_has_before_it(engine: Engine) -> None:
    """Delayed messages will come to it as well; older ones are not its own."""
    await engine.queues.define("q", mode="fanout")
    await push(engine, b"1", b"2")
    await push(engine, b"3", delay_ms=1_000)
    await engine.queues.add_group("q", "late", Start(place="end"))
    await engine.queues.add_group("q", "all")
    assert await counts(engine, group="late") == {"delayed": 1}
    assert await counts(engine, group="all") == {"ready": 2, "delayed": 1}


async def test_an_existing_group_keeps_its_place(engine: Engine, dump: Dump) -> None:
    """Adding it again changes nothing, wherever it is told to start."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "g", Start(place="end"))
    before = dump()
    assert await engine.queues.add_group("q", "g") is False
    assert dump() == before


async def test_a_start_after_an_unknown_message_is_refused(engine: Engine, dump: Dump) -> None:
    """Also after one that is delayed: it has no place yet."""
    await engine.queues.define("q", mode="fanout")
    await push(engine, b"1", id="later", delay_ms=1_000)
    for place in ("nothing", "later"):
        call = engine.queues.add_group("q", "g", Start(place="after", after=place))
        await refused(call, "message_not_found", dump)


async def test_a_work_queue_has_one_group(engine: Engine, dump: Dump) -> None:
    """Its own name is accepted, others are not."""
    await engine.queues.define("q")
    assert await engine.queues.add_group("q", "default") is False
    await refused(engine.queues.add_group("q", "billing"), "queue_conflict", dump)


async def test_the_number_of_groups_has_a_limit(store: Store, engine: Engine) -> None:
    """Counts and purges go through all of them."""
    await engine.queues.define("q", mode="fanout")
    flat = [part for n in range(1_000) for part in ("0", f"g{n}")]
    await store.client.call(["ZADD", f"{store.queue_tag('q')}:groups", *flat])
    with_one_more = engine.queues.add_group("q", "one-more")
    await refused(with_one_more, "too_many_groups", dict)


async def test_a_repeated_call_gets_its_first_answer(store: Store, engine: Engine) -> None:
    """The group is this call's own."""
    await engine.queues.define("q", mode="fanout")
    assert await call_twice(store, "hf_queue_group", "q", "g", "first", "", "r1") == [
        [b"created"],
        [b"created"],
    ]
