"""hf_queue_peek."""

from __future__ import annotations

from holdfast.engine import Engine
from tests.support.lifecycle import Dump
from tests.support.queues import push, read, read_one, refused, settle


async def test_the_next_messages_are_shown_in_their_order(engine: Engine, dump: Dump) -> None:
    """Blocked ones too, delayed ones and those in flight not; nothing changes."""
    await engine.queues.define("q")
    await push(engine, b"1", b"2", b"3", key="k")
    await push(engine, b"4")
    await push(engine, b"5", delay_ms=1_000)
    await settle(engine, "release", await read_one(engine))
    before = dump()
    found = await engine.queues.peek("q", count=10)
    assert [m.payload for m in found] == [b"1", b"2", b"3", b"4"]
    assert [m.attempt for m in found] == [1, 0, 0, 0]
    assert [m.payload for m in await engine.queues.peek("q")] == [b"1"]
    assert dump() == before
    await read(engine)
    assert [m.payload for m in await engine.queues.peek("q", count=10)] == [b"2", b"3"]


async def test_a_fanout_queue_is_shown_as_a_whole_or_as_a_group_sees_it(engine: Engine) -> None:
    """A group sees what it is not done with."""
    await engine.queues.define("q", mode="fanout")
    for group in ("a", "b"):
        await engine.queues.add_group("q", group)
    await push(engine, b"1", b"2", b"3")
    await settle(engine, "ack", await read_one(engine, group="a"))
    await settle(engine, "release", await read_one(engine, group="a"))
    whole = await engine.queues.peek("q", count=10)
    assert [m.payload for m in whole] == [b"1", b"2", b"3"]
    own = await engine.queues.peek("q", group="a", count=10)
    assert [m.payload for m in own] == [b"2", b"3"]


async def test_unknown_names_are_refused(engine: Engine, dump: Dump) -> None:
    """Queue and group."""
    await engine.queues.define("q")
    await refused(engine.queues.peek("nowhere"), "queue_not_found", dump)
    await refused(engine.queues.peek("q", group="nobody"), "group_not_found", dump)
