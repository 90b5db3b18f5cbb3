"""hf_queue_commit."""

from __future__ import annotations

import pytest

from holdfast import Push, Submit
from holdfast.engine import Engine
from holdfast.errors import HoldfastError
from holdfast.model.executions import NewExecution
from holdfast.model.listing import Filter
from holdfast.model.messages import NewMessage
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import call_twice, counts, payloads, push, read_one, refused


async def _kinds(engine: Engine) -> list[tuple[str, bytes]]:
    page = await engine.list(Filter())
    return sorted([(item.kind, await engine.input(item.id)) for item in page.items])


async def test_an_ack_its_pushes_and_its_executions_happen_together(engine: Engine) -> None:
    """Once, whatever bytes they carry."""
    for name in ("q", "mail", "log"):
        await engine.queues.define(name)
    await push(engine, b"1")
    held = await read_one(engine)
    effects = (
        Push("mail", NewMessage(payload=b"\xff\x00", key="k")),
        Push("log", NewMessage(payload=b"2", delay_ms=1_000)),
        Submit(NewExecution(kind="bill", input=b"\x80", tags={"a": "b"})),
    )
    settled = await engine.queues.ack("q", held.handle, *effects)
    assert not settled.repeated
    assert await payloads(engine, queue="mail") == [b"\xff\x00"]
    assert await counts(engine, "log") == {"delayed": 1}
    assert await _kinds(engine) == [("bill", b"\x80")]
    assert await counts(engine) == {"acked": 1}
    assert (await engine.queues.stats("q")).owed == 0


async def test_a_repeated_ack_has_no_second_effect(engine: Engine) -> None:
    """Once per handle, however often it is called."""
    await engine.queues.define("q")
    await push(engine, b"1")
    held = await read_one(engine)
    effect = Push("q", NewMessage(payload=b"next"))
    first = await engine.queues.ack("q", held.handle, effect)
    second = await engine.queues.ack("q", held.handle, effect)
    assert (first.repeated, second.repeated) == (False, True)
    assert await payloads(engine) == [b"next"]


async def test_a_stale_delivery_has_no_effect(engine: Engine, clock: Clock) -> None:
    """All or nothing."""
    await engine.queues.define("q", lock_ms=1_000)
    await engine.queues.define("mail")
    await push(engine, b"1")
    held = await read_one(engine)
    await clock.advance(1_000)
    await read_one(engine, consumer="other")
    with pytest.raises(HoldfastError) as caught:
        await engine.queues.ack("q", held.handle, Push("mail", NewMessage(payload=b"2")))
    assert caught.value.code == "stale_delivery"
    assert await counts(engine, "mail") == {}


async def test_an_unknown_target_is_refused_before_anything_happens(
    engine: Engine, dump: Dump
) -> None:
    """The delivery stays with its consumer."""
    await engine.queues.define("q")
    await push(engine, b"1")
    held = await read_one(engine)
    call = engine.queues.ack("q", held.handle, Push("nowhere", NewMessage(payload=b"2")))
    await refused(call, "queue_not_found", dump)
    await refused(
        engine.queues.ack("q", "x", Push("q", NewMessage(payload=b"2"))), "unknown_delivery", dump
    )


async def test_a_lost_reply_commits_once(store: Store, engine: Engine) -> None:
    """The effects are owed once."""
    await engine.queues.define("q")
    await push(engine, b"1")
    held = await read_one(engine)
    args = (held.handle, "", b"", b"an execution")
    answers = await call_twice(store, "hf_queue_commit", "q", *args)
    assert answers == [[1, b"ok"], [1, b"repeated"]]
    assert (await store.queues.stats("q")).owed == 1
