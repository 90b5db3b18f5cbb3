"""Short ways through the life of messages, for tests."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

from holdfast.api import Engine
from holdfast.errors import HoldfastError
from holdfast.model.deliveries import Delivery, Settle, Settled, Verb
from holdfast.model.messages import NewMessage, Pushed
from holdfast.model.queues import GroupStats
from holdfast.store.store import Store
from tests.support.lifecycle import Dump


async def push(engine: Engine, *payloads: bytes, queue: str = "q", **fields: Any) -> list[str]:
    """Push messages with the same fields; returns their ids."""
    items = [NewMessage(payload=payload, **fields) for payload in payloads]
    answers = await engine.queues.push_many(queue, items)
    return [answer.id for answer in answers if isinstance(answer, Pushed)]


async def read(
    engine: Engine, count: int = 10, *, queue: str = "q", **options: Any
) -> list[Delivery]:
    """Read as consumer c1, unless the options say otherwise."""
    return list(await engine.queues.read(queue, **{"consumer": "c1", "count": count, **options}))


async def read_one(engine: Engine, **options: Any) -> Delivery:
    """Read and expect exactly one."""
    (delivery,) = await read(engine, 1, **options)
    return delivery


async def payloads(engine: Engine, count: int = 10, **options: Any) -> list[bytes]:
    """Read, and return what the messages carry."""
    return [delivery.message.payload for delivery in await read(engine, count, **options)]


async def settle(
    engine: Engine, verb: Verb, *deliveries: Delivery, queue: str = "q", **fields: Any
) -> Sequence[Settled | HoldfastError]:
    """Settle deliveries."""
    items = [Settle(handle=delivery.handle, **fields) for delivery in deliveries]
    return await engine.queues.settle(queue, verb, items)


async def codes(answers: Awaitable[Sequence[Any]]) -> list[str]:
    """Return a word for each answer: ok, repeated, or the code of the refusal."""
    return [
        answer.code
        if isinstance(answer, HoldfastError)
        else ("repeated" if getattr(answer, "repeated", False) else "ok")
        for answer in await answers
    ]


async def counts(engine: Engine, queue: str = "q", group: str = "default") -> dict[str, int]:
    """Return the counts of a group that are not zero, without `pushed`, which must be their sum."""
    found = (await engine.queues.stats(queue)).groups[group]
    assert found.pushed == sum(_counted(found).values())
    return {name: count for name, count in _counted(found).items() if count}


def _counted(found: GroupStats) -> dict[str, int]:
    return {name: getattr(found, name) for name in found.__dataclass_fields__ if name != "pushed"}


async def call_twice(store: Store, function: str, queue: str, *args: str | bytes) -> list[Any]:
    """Call a function as after a lost reply; returns both answers."""
    tag = store.queue_tag(queue)
    return [await store.caller.write(function, tag, *args) for _ in range(2)]


async def refused(call: Awaitable[Any], code: str, dump: Dump) -> HoldfastError:
    """Expect a refusal that changes nothing."""
    before = dump()
    with pytest.raises(HoldfastError) as caught:
        await call
    assert caught.value.code == code
    assert dump() == before
    return caught.value
