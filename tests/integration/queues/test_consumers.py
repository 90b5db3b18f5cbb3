"""Consumers: messages become executions, once each, with the task's own retries."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import AfterValidator

from holdfast import App, Context, WorkerSettings
from holdfast.api import Engine
from holdfast.engine import open_engine
from holdfast.errors import InvalidInput
from holdfast.model.deliveries import Delivery
from holdfast.model.listing import Filter
from holdfast.model.messages import Start
from holdfast.model.states import State
from holdfast.queues import Queues
from holdfast.testing.polling import wait_for
from tests.support.queues import counts


@dataclass
class Order:
    """What the queue carries."""

    id: int
    lines: list[str]


@pytest.fixture
async def app(real_url: str) -> App:
    """An app on a store with the real clock."""
    return App(real_url)


async def _executions(engine: Engine, state: State) -> int:
    return sum(cell.count for cell in await engine.count() if cell.state is state)


async def test_every_message_runs_the_task_once(app: App) -> None:
    """Typed by the parameter, retried by the task's policy, traced by tags."""
    orders = app.queue("orders", Order)
    seen: list[Order] = []

    @app.consumer("orders", retries=2)
    async def bill(ctx: Context, order: Order) -> int:
        seen.append(order)
        if len(seen) == 1:
            raise ConnectionError("once")
        return len(order.lines)

    async with app:
        await orders.define(dead_letter="dead")
        pushed = [await orders.push(Order(n, ["x"] * n)) for n in range(3)]
        async with app.worker(WorkerSettings(lease_ms=1_000)):

            async def done() -> bool:
                return await _executions(app.engine, State.COMPLETED) == 3

            await wait_for(done)
        assert await counts(app.engine, "orders") == {"acked": 3}
        page = await app.engine.list(Filter(tag=("message", pushed[0].id)))
        (execution,) = page.items
        assert (execution.kind, execution.tags["queue"]) == ("bill", "orders")
        assert [order.id for order in seen].count(0) + [o.id for o in seen].count(1) >= 2
        assert len(seen) == 4
    assert {type(order) for order in seen} == {Order}


async def test_groups_have_consumers_of_their_own(app: App) -> None:
    """A consumer makes its group, which begins with the first message."""
    ran: list[tuple[str, bytes]] = []

    @app.consumer("events", group="billing")
    async def bill(event: bytes) -> None:
        ran.append(("billing", event))

    @app.consumer("events", group="mail")
    async def mail(event: bytes) -> None:
        ran.append(("mail", event))

    async with app:
        await app.queue("events").define(mode="fanout")
        await app.engine.queues.push("events", b"\xff1")
        async with app.worker():

            async def done() -> bool:
                return len(ran) == 2

            await wait_for(done)
        assert sorted(ran) == [("billing", b"\xff1"), ("mail", b"\xff1")]
        assert (await app.engine.queues.stats("events")).collected == 1


async def test_a_message_that_the_task_cannot_take_is_a_dead_letter(app: App) -> None:
    """No execution is made of it, and the reason says why."""

    @app.consumer("orders")
    async def bill(order: Order) -> None:
        raise AssertionError(order)

    async with app:
        await app.queue("orders").define(dead_letter="dead")
        await app.engine.queues.push("orders", b'{"id": "none"}')
        await app.engine.queues.push("orders", b"\xff not json")
        async with app.worker():
            found: list[Delivery] = []
            while len(found) < 2:
                found += await app.engine.queues.read(
                    "dead", consumer="test", count=2, wait_ms=10_000
                )
        reasons = [d.message.dead_letter.reason for d in found if d.message.dead_letter]
        assert any("lines" in reason for reason in reasons)
        assert not await app.engine.count()


async def test_a_message_that_is_nested_too_deep_is_a_dead_letter_at_once(app: App) -> None:
    """It would otherwise end one worker after the other."""

    @app.consumer("orders")
    async def bill(order: int) -> None:
        raise AssertionError(order)

    async with app:
        await app.queue("orders").define(dead_letter="dead")
        await app.engine.queues.push("orders", b"[" * 100_000 + b"]" * 100_000)
        async with app.worker():
            (found,) = await app.engine.queues.read("dead", consumer="test", wait_ms=10_000)
    assert found.message.dead_letter is not None
    assert found.message.dead_letter.attempts == 1
    assert "must be a JSON object" in found.message.dead_letter.reason


_looked_up: list[int] = []


def _look_up(value: int) -> int:
    """Look up 2, from the second time on, and nothing else."""
    _looked_up.append(value)
    if _looked_up.count(2) < 2:
        raise ConnectionError(f"cannot look up {value}")
    return value


async def test_a_message_whose_check_fails_otherwise_is_tried_again(app: App) -> None:
    """As after any failure. No text of the error is stored: reasons are not sealed."""

    @app.consumer("orders")
    async def bill(order: Annotated[int, AfterValidator(_look_up)]) -> int:
        return order

    async with app:
        await app.queue("orders").define(dead_letter="dead")
        await app.engine.queues.push("orders", b"4711")
        async with app.worker():
            (found,) = await app.engine.queues.read("dead", consumer="test", wait_ms=10_000)
            await app.engine.queues.push("orders", b"2")

            async def done() -> bool:
                return await _executions(app.engine, State.COMPLETED) == 1

            await wait_for(done)
    assert found.message.dead_letter is not None
    assert found.message.dead_letter.attempts == 3
    assert found.message.dead_letter.reason == "input: checking it failed with ConnectionError"


async def test_a_consumer_takes_no_more_than_its_backlog(app: App) -> None:
    """What its executions have not finished stays a message."""
    gate = asyncio.Event()

    @app.consumer("q", backlog=2)
    async def work(number: int) -> None:
        await gate.wait()

    async with app:
        numbers = app.queue("q", int)
        await numbers.define()
        await numbers.push_many(range(5))
        async with app.worker():

            async def busy() -> bool:
                return await _executions(app.engine, State.ACTIVE) == 2

            await wait_for(busy)
            assert await counts(app.engine, "q") == {"ready": 3, "acked": 2}
            gate.set()

            async def done() -> bool:
                return await _executions(app.engine, State.COMPLETED) == 5

            await wait_for(done)


async def test_a_worker_drains_at_once_while_its_consumers_wait(app: App) -> None:
    """A read that waits is told to stop; nothing is taken and lost."""

    @app.consumer("q")
    async def work(number: int) -> None:
        del number

    async with app:
        await app.queue("q").define()
        loop = asyncio.get_running_loop()
        async with app.worker() as worker:

            async def asleep() -> bool:
                assert isinstance(app.engine.queues, Queues)
                return bool(app.engine.queues._readers._waiters)

            await wait_for(asleep)
            started = loop.time()
            worker.drain()
        assert loop.time() - started < 5


async def test_a_queue_that_comes_later_is_consumed_then(app: App) -> None:
    """A worker that is there before its queue waits for it."""
    ran = asyncio.Event()

    @app.consumer("late", group="g")
    async def work(number: int) -> None:
        ran.set()

    async with app, app.worker():
        await app.queue("late").define(mode="fanout")
        await app.engine.queues.add_group("late", "other", Start(place="end"))
        await app.queue("late", int).push(1)
        async with asyncio.timeout(10):
            await ran.wait()


def test_a_consumer_has_one_parameter_for_the_message(app: App) -> None:
    """Others must have defaults; ids are not to be shared."""
    with pytest.raises(InvalidInput, match="one parameter"):

        @app.consumer("q")
        async def none() -> None: ...

    with pytest.raises(InvalidInput, match="one parameter"):

        @app.consumer("q")
        async def two(a: int, b: int) -> None: ...

    with pytest.raises(InvalidInput, match="separate execution"):

        @app.consumer("q", id="x")
        async def named(a: int) -> None: ...

    with pytest.raises(InvalidInput, match="backlog"):

        @app.consumer("q", backlog=0)
        async def lazy(a: int) -> None: ...


async def test_a_crash_between_reading_and_handing_over_costs_nothing(real_url: str) -> None:
    """The message is handed out again, and becomes one execution."""
    app = App()
    ran: list[int] = []

    @app.consumer("q")
    async def work(number: int) -> None:
        ran.append(number)

    async with open_engine(real_url) as engine:
        app.attach(engine)
        await engine.queues.define("q", lock_ms=200)
        await engine.queues.push("q", b"7")
        await engine.queues.read("q", consumer="dead-worker")
        async with app.worker():

            async def done() -> bool:
                return bool(ran)

            await wait_for(done)
        assert ran == [7]
        assert await counts(engine, "q") == {"acked": 1}
