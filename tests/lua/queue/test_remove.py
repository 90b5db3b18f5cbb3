"""hf_queue_remove."""

from __future__ import annotations

import pytest

from holdfast.engine import Engine
from holdfast.errors import QueueNotFound, UnknownDelivery
from holdfast.model.deliveries import Settle
from holdfast.model.messages import Start
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.queues import push, read, read_one, settle


async def _fill(engine: Engine, mode: str) -> None:
    await engine.queues.define("q", mode=mode, max_attempts=2, ttl_ms=60_000)
    if mode == "fanout":
        await engine.queues.add_group("q", "g1")
        await engine.queues.add_group("q", "g2", Start(place="end"))
    await push(engine, b"1", b"2", key="k")
    await push(engine, b"3", delay_ms=5_000)
    await push(engine, b"4", id="named")
    group = "g1" if mode == "fanout" else None
    await settle(engine, "nack", await read_one(engine, group=group), delay_ms=500)
    await read(engine, group=group)


@pytest.mark.parametrize("mode", ["work", "fanout"])
async def test_nothing_is_left_behind(engine: Engine, dump: Dump, mode: str) -> None:
    """Whatever a queue has been through, its removal leaves no key."""
    before = dump()
    await _fill(engine, mode)
    await engine.queues.delete("q")
    assert dump() == before


async def test_a_queue_of_the_same_name_starts_anew(engine: Engine) -> None:
    """No count, message or handle of the former one is known."""
    await _fill(engine, "work")
    await push(engine, b"5")
    held = await read_one(engine)
    await engine.queues.delete("q")
    await engine.queues.define("q")
    assert (await engine.queues.stats("q")).pushed == 0
    with pytest.raises(UnknownDelivery):
        await engine.queues.ack("q", held.handle)


async def test_what_is_owed_is_delivered_first(engine: Engine) -> None:
    """A dead letter outlives its origin."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1")
    item = Settle(handle=(await read_one(engine)).handle)
    await engine.store.queues.settle("q", "nack", [item])
    assert await engine.store.queues.remove("q") is False
    await engine.queues.delete("q")
    assert (await engine.queues.stats("dead")).stored == 1


async def test_an_unknown_queue_is_refused(engine: Engine) -> None:
    """There is nothing to remove."""
    with pytest.raises(QueueNotFound):
        await engine.queues.delete("nowhere")


async def test_a_repeated_call_gets_its_first_answer(store: Store, engine: Engine) -> None:
    """The queue is gone, and that is what was asked for."""
    await engine.queues.define("q")
    tag = store.queue_tag("q")
    for _ in range(2):
        assert await store.caller.write("hf_queue_remove", tag, "r1") == [b"removed"]
