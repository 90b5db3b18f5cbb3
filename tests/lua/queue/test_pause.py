"""hf_queue_pause."""

from __future__ import annotations

from holdfast.engine import Engine
from tests.support.lifecycle import Dump
from tests.support.queues import codes, payloads, push, read_one, refused, settle


async def test_a_paused_queue_hands_out_nothing(engine: Engine) -> None:
    """Pushing goes on, deliveries under way too, and resuming opens it again."""
    await engine.queues.define("q")
    await push(engine, b"1", b"2")
    held = await read_one(engine)
    await engine.queues.pause("q")
    await push(engine, b"3")
    assert await payloads(engine) == []
    assert await codes(settle(engine, "ack", held)) == ["ok"]
    await engine.queues.resume("q")
    assert await payloads(engine) == [b"2", b"3"]


async def test_a_group_is_paused_alone(engine: Engine) -> None:
    """Others go on; a pause of the queue is another matter than one of the group."""
    await engine.queues.define("q", mode="fanout")
    for group in ("a", "b"):
        await engine.queues.add_group("q", group)
    await push(engine, b"1")
    await engine.queues.pause("q", "a")
    assert await payloads(engine, group="a") == []
    assert await payloads(engine, group="b") == [b"1"]
    await engine.queues.resume("q")
    assert await payloads(engine, group="a") == []
    await engine.queues.resume("q", "a")
    assert await payloads(engine, group="a") == [b"1"]


async def test_the_one_group_of_a_work_queue_is_the_queue(engine: Engine) -> None:
    """Paused by either name, it is resumed by either."""
    await engine.queues.define("q")
    await push(engine, b"1")
    for paused, resumed in (("default", None), (None, "default")):
        await engine.queues.pause("q", paused)
        assert (await engine.queues.describe("q")).paused
        await engine.queues.resume("q", resumed)
        assert not (await engine.queues.describe("q")).paused
    assert await payloads(engine) == [b"1"]


async def test_unknown_names_are_refused(engine: Engine, dump: Dump) -> None:
    """Queue and group, each with its code."""
    await engine.queues.define("q")
    await refused(engine.queues.pause("nowhere"), "queue_not_found", dump)
    await refused(engine.queues.resume("q", "nobody"), "group_not_found", dump)
