"""hf_queue_purge."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.messages import Start
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.queues import (
    call_twice,
    codes,
    counts,
    payloads,
    push,
    read,
    read_one,
    refused,
    settle,
)


async def test_all_messages_go_and_the_definition_stays(engine: Engine) -> None:
    """Ready, blocked, delayed, waiting for a retry and in flight; the number is told."""
    await engine.queues.define("q", max_attempts=7)
    await push(engine, b"1", b"2", b"3", key="k")
    await push(engine, b"4", b"5")
    await push(engine, b"6", delay_ms=1_000)
    first = await read_one(engine)
    await settle(engine, "nack", first, delay_ms=1_000)
    await read_one(engine)
    assert await engine.queues.purge("q") == 6
    assert await counts(engine) == {"purged": 6}
    assert (await engine.queues.describe("q")).settings.max_attempts == 7
    await push(engine, b"7", key="k")
    assert await payloads(engine) == [b"7"]


async def test_handles_are_stale_afterwards(engine: Engine) -> None:
    """Workers are told, and cannot settle a later message."""
    await engine.queues.define("q")
    await push(engine, b"1")
    held = await read_one(engine)
    await engine.queues.purge("q")
    await push(engine, b"2")
    await read_one(engine)
    assert await codes(settle(engine, "ack", held)) == ["stale_delivery"]
    assert (await engine.queues.extend("q", [(held.handle, None)]))[0].code == "stale_delivery"  # type: ignore[union-attr]


async def test_groups_stay_and_count_what_they_lost(engine: Engine) -> None:
    """Also what they had not come to."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "a")
    await push(engine, b"1", b"2", b"3")
    await settle(engine, "ack", *await read(engine, 1, group="a"))
    await engine.queues.add_group("q", "b", Start(place="end"))
    assert await engine.queues.purge("q") == 2
    found = await engine.queues.stats("q")
    assert (found.collected, found.purged, found.stored) == (1, 2, 0)
    assert await counts(engine, group="a") == {"acked": 1, "purged": 2}
    assert await counts(engine, group="b") == {}
    await push(engine, b"4")
    assert await payloads(engine, group="b") == [b"4"]


async def test_a_lost_reply_purges_once(store: Store, engine: Engine) -> None:
    """What is pushed between the two calls stays."""
    await engine.queues.define("q")
    await push(engine, b"1")
    tag = store.queue_tag("q")
    assert await store.caller.write("hf_queue_purge", tag, "r1") == [1]
    await push(engine, b"2")
    answers = await call_twice(store, "hf_queue_purge", "q", "r1")
    assert [int(answer[0]) for answer in answers] == [1, 1]
    assert await counts(engine) == {"ready": 1, "purged": 1}


async def test_an_unknown_queue_is_refused(engine: Engine, dump: Dump) -> None:
    """There is nothing to purge."""
    await refused(engine.queues.purge("nowhere"), "queue_not_found", dump)
