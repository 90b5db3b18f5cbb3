"""hf_queue_receive."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.engine import Engine
from holdfast.errors import QueueNotFound
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.queues import counts, payloads


def _entry(name: str, body: str) -> bytes:
    return msgspec.msgpack.encode({"id": name, "body": body})


async def test_each_entry_is_taken_once(store: Store, engine: Engine, dump: Dump) -> None:
    """Sent again, sent in part, sent with more: numbers tell what is new."""
    await engine.queues.define("q")
    one, two, three = (_entry(f"m{n}", str(n)) for n in (1, 2, 3))
    await store.queues.receive("q", "o|1", 1, [one, two])
    before = dump()
    await store.queues.receive("q", "o|1", 1, [one, two])
    await store.queues.receive("q", "o|1", 2, [two])
    assert dump() == before
    await store.queues.receive("q", "o|1", 2, [two, three])
    assert await payloads(engine) == [b"1", b"2", b"3"]


async def test_origins_are_told_apart(store: Store, engine: Engine) -> None:
    """Another queue, or a new one of the same name, counts from its own beginning."""
    await engine.queues.define("q")
    for origin in ("a|1", "b|1", "a|2"):
        await store.queues.receive("q", origin, 1, [_entry(f"from {origin}", "x")])
    assert await counts(engine) == {"ready": 3}


async def test_nothing_is_refused_that_was_accepted_before(store: Store, engine: Engine) -> None:
    """Neither for the size of the queue, nor for an id that is taken."""
    await engine.queues.define("q", max_size=1)
    await store.queues.receive("q", "o|1", 1, [_entry("m", "1"), _entry("m", "2")])
    found = await engine.queues.peek("q", count=5)
    assert [(message.id, message.payload) for message in found] == [("m", b"1"), ("m~2", b"2")]


async def test_an_unknown_queue_is_refused(store: Store, engine: Engine) -> None:
    """The sender keeps what it owes."""
    await engine.queues.define("q")
    with pytest.raises(QueueNotFound):
        await store.queues.receive("nowhere", "o|1", 1, [_entry("m", "1")])
