"""hf_queue_ungroup."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.queues import call_twice, codes, push, read, read_one, refused, settle


async def _stored(engine: Engine) -> tuple[int, int]:
    found = await engine.queues.stats("q")
    assert found.pushed == found.stored + found.collected
    return found.stored, found.collected


async def test_messages_that_only_it_held_are_collected(engine: Engine) -> None:
    """Those in flight, those that came back, and those it has not come to."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "fast")
    await engine.queues.add_group("q", "slow")
    await push(engine, b"1", b"2", b"3", b"4")
    await settle(engine, "ack", *await read(engine, 3, group="fast"))
    await settle(engine, "nack", await read_one(engine, group="slow"))
    await read(engine, 2, group="slow")
    assert await _stored(engine) == (4, 0)
    await engine.queues.remove_group("q", "slow")
    assert await _stored(engine) == (1, 3)
    assert [m.message.payload for m in await read(engine, group="fast")] == [b"4"]


async def test_messages_before_all_groups_stay(engine: Engine) -> None:
    """What was pushed to a queue without groups waits for one that starts first."""
    await engine.queues.define("q", mode="fanout")
    await push(engine, b"1")
    await engine.queues.add_group("q", "g")
    await engine.queues.remove_group("q", "g")
    assert await _stored(engine) == (0, 1)
    await push(engine, b"2")
    assert await _stored(engine) == (1, 1)


async def test_many_unread_messages_are_collected_in_steps(engine: Engine) -> None:
    """One call looks at 500; the rest follows by the queue's timers."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "g")
    await push(engine, *[b"1"] * 1_000)
    await push(engine, *[b"1"] * 700)
    await engine.queues.remove_group("q", "g")
    key = f"{engine.store.queue_tag('q')}:messages"
    assert await engine.store.client.call(["HLEN", key]) == 1_200
    while (await engine.store.queues.tick("q", 100))[1] == 0:
        pass
    assert await _stored(engine) == (0, 1_700)


async def test_messages_that_others_hold_do_not_keep_those_behind_them(engine: Engine) -> None:
    """A step that collects nothing is a step, too."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "fast")
    await engine.queues.add_group("q", "slow")
    await push(engine, *[b"1"] * 600)
    held = await read(engine, 600, group="fast")
    await settle(engine, "ack", *held[500:])
    await engine.queues.remove_group("q", "slow")
    for _ in range(3):
        await engine.store.queues.tick("q", 100)
    assert await _stored(engine) == (500, 100)


async def test_a_group_of_its_name_is_not_paused(engine: Engine) -> None:
    """Nothing of the removed one is left."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "g")
    await engine.queues.pause("q", group="g")
    await engine.queues.remove_group("q", "g")
    await engine.queues.add_group("q", "g")
    await push(engine, b"1")
    assert len(await read(engine, group="g")) == 1


async def test_its_handles_are_stale(engine: Engine) -> None:
    """Whoever still works for it is told."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "g")
    await push(engine, b"1")
    held = await read_one(engine, group="g")
    await engine.queues.remove_group("q", "g")
    assert await codes(settle(engine, "ack", held)) == ["stale_delivery"]


async def test_unknown_groups_and_work_queues_are_refused(engine: Engine, dump: Dump) -> None:
    """Each with its own code."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.define("w")
    await refused(engine.queues.remove_group("q", "g"), "group_not_found", dump)
    await refused(engine.queues.remove_group("w", "default"), "queue_conflict", dump)
    await refused(engine.queues.remove_group("nowhere", "g"), "queue_not_found", dump)


async def test_a_repeated_call_gets_its_first_answer(store: Store, engine: Engine) -> None:
    """The group is gone, and that is what was asked for."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "g")
    assert await call_twice(store, "hf_queue_ungroup", "q", "g", "r1") == [
        [b"removed"],
        [b"removed"],
    ]


async def test_a_group_with_very_many_deliveries_is_removed(engine: Engine, dump: Dump) -> None:
    """More than one command of the server takes."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "g")
    for _ in range(9):
        await push(engine, *[b"1"] * 1_000)
        for _ in range(10):
            assert len(await read(engine, 100, group="g")) == 100
    await engine.queues.remove_group("q", "g")
    assert await _stored(engine) == (0, 9_000)
    assert not [key for key in dump() if key.endswith((":g", ":handles"))]
