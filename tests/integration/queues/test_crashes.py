"""Crashes between the calls that carry messages from queue to queue: none is lost or doubled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast import Push, Submit
from holdfast.engine import Engine
from holdfast.errors import StoreUnavailable
from holdfast.model.deliveries import Settle
from holdfast.model.executions import NewExecution
from holdfast.model.listing import Filter
from holdfast.model.messages import NewMessage
from holdfast.queues.effects import encode
from holdfast.queues.outbox import QueueOutboxes
from holdfast.store.queues import Queues as Calls
from holdfast.testing.clock import Clock
from tests.support.fault_injection import meanwhile, once
from tests.support.queues import counts, push, read, read_one, settle


class _Crashing(Calls):
    """Calls of a process that dies before or after the n-th call of the delivery."""

    def __init__(self, calls: Calls, crash_at: int, *, after: bool) -> None:
        self.__dict__.update(calls.__dict__)
        self._left = crash_at
        self._after = after

    async def _step(self, call: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise StoreUnavailable("crashed before the call")
        answer = await call(*args)
        if self._left == 0:
            raise StoreUnavailable("crashed after the call")
        return answer

    async def outbox(self, *args: Any) -> Any:
        return await self._step(super().outbox, *args)

    async def receive(self, *args: Any) -> Any:
        return await self._step(super().receive, *args)

    async def sent(self, *args: Any) -> Any:
        return await self._step(super().sent, *args)


async def _owe(engine: Engine) -> None:
    """Owe dead letters to one queue, messages to another and an execution."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await engine.queues.define("mail")
    await push(engine, b"1", b"2", b"3")
    first, second, third = await read(engine)
    await settle(engine, "nack", first, second)
    effects = [
        encode(engine.store.queues, "q", Push("mail", NewMessage(payload=b"m"))),
        encode(engine.store.queues, "q", Submit(NewExecution(kind="bill"))),
    ]
    await engine.store.queues.commit("q", third.handle, effects)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("crash_at", range(1, 9))
async def test_a_crash_at_any_call_of_the_delivery(
    engine: Engine,
    clock: Clock,
    crash_at: int,
    after: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next process finds what is left, and everything arrives once."""
    store = engine.store
    calm = store.queues

    async def deliver_nothing(_outboxes: QueueOutboxes, name: str) -> None:
        calm.take_unsent(name)

    with monkeypatch.context() as patch:
        patch.setattr(QueueOutboxes, "deliver_if_owed", deliver_nothing)
        await _owe(engine)
    store.queues = _Crashing(calm, crash_at, after=after)
    await QueueOutboxes(store).deliver("q")
    store.queues = calm
    await clock.advance(5_000)
    await calm.tick("q", 10)
    assert calm.take_unsent("q") == ((await calm.stats("q")).owed > 0)
    assert await QueueOutboxes(store).deliver("q") == 0
    assert await counts(engine) == {"acked": 1, "dead": 2}
    assert await counts(engine, "dead") == {"ready": 2}
    assert await counts(engine, "mail") == {"ready": 1}
    assert [item.kind for item in (await engine.list(Filter())).items] == ["bill"]
    assert (await engine.queues.stats("q")).owed == 0


async def test_two_processes_may_deliver_at_once(engine: Engine) -> None:
    """Both send the same; the target takes each once."""
    calm = engine.store.queues
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, *[b"1"] * 5)
    items = [delivery.handle for delivery in await read(engine)]
    await calm.settle("q", "nack", [Settle(handle=handle) for handle in items])
    incarnation, ((target, first, entries),) = await calm.outbox("q", 10)
    await QueueOutboxes(engine.store).deliver("q")
    await calm.receive(target, f"q|{incarnation}", first, entries)
    assert await counts(engine, "dead") == {"ready": 5}


async def test_a_process_that_confirms_late_costs_a_new_queue_nothing(engine: Engine) -> None:
    """It has delivered for a queue that was deleted since, and made again with the same name."""
    calm = engine.store.queues

    async def owe(*bodies: bytes) -> None:
        await engine.queues.define("q", max_attempts=1, dead_letter="dead")
        await push(engine, *bodies)
        items = [Settle(handle=delivery.handle) for delivery in await read(engine)]
        await calm.settle("q", "nack", items)

    async def finish() -> None:
        await QueueOutboxes(engine.store).deliver("q")
        await engine.queues.delete("q")
        await owe(b"3", b"4")

    await owe(b"1", b"2")
    with meanwhile(engine.store.client, "hf_queue_sent", once(finish)):
        await QueueOutboxes(engine.store).deliver("q")
    assert await counts(engine, "dead") == {"ready": 4}
    assert (await engine.queues.stats("q")).owed == 0


async def test_a_dead_letter_queue_that_was_removed_is_made_again(engine: Engine) -> None:
    """Dead letters must have a place to go."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await engine.queues.delete("dead")
    await push(engine, b"1")
    await settle(engine, "nack", await read_one(engine))
    assert await counts(engine, "dead") == {"ready": 1}
    assert (await engine.queues.describe("dead")).takes_dead_letters


async def test_what_a_missing_queue_is_owed_waits_for_it(engine: Engine, clock: Clock) -> None:
    """Nothing is dropped, and others get theirs meanwhile."""
    for name in ("q", "mail", "log"):
        await engine.queues.define(name)
    await push(engine, b"1")
    held = await read_one(engine)
    effects = [
        encode(engine.store.queues, "q", Push(name, NewMessage(payload=b"m")))
        for name in ("mail", "log")
    ]
    await engine.queues.delete("mail")
    await engine.store.queues.commit("q", held.handle, effects)
    assert await QueueOutboxes(engine.store).deliver("q") == 1
    assert await counts(engine, "log") == {"ready": 1}
    await engine.queues.define("mail")
    await clock.advance(5_000)
    await engine.queues.stats("q")
    assert await counts(engine, "mail") == {"ready": 1}
