"""`app.queue`: typed messages, deliveries that settle themselves, effects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from holdfast import App, Submit, SyncClient
from holdfast.engine import Engine
from holdfast.errors import InvalidInput, StaleDelivery
from holdfast.model.executions import NewExecution
from holdfast.model.listing import Filter
from holdfast.testing.clock import Clock
from tests.support.queues import counts


@dataclass
class Order:
    """What the queue carries."""

    id: int
    note: str = ""


@pytest.fixture
def app(engine: Engine) -> App:
    """An app on the test's store."""
    return App().attach(engine)


async def test_messages_keep_their_type(app: App) -> None:
    """What is pushed comes back as the same value."""
    orders = app.queue("orders", Order)
    assert await orders.define(max_attempts=2) is True
    pushed = await orders.push(Order(1, "ä"), id="o1", key="customer")
    assert (pushed.id, pushed.duplicate) == ("o1", False)
    (received,) = await orders.read(consumer="c")
    assert received.value == Order(1, "ä")
    assert (received.message.key, received.message.attempt) == ("customer", 1)
    assert not (await received.ack()).repeated
    assert (await orders.stats()).groups["default"].acked == 1


async def test_bytes_travel_as_they_are(app: App) -> None:
    """No JSON around them."""
    raw = app.queue("raw", bytes)
    await raw.define()
    await raw.push(b"\xff\x00")
    (received,) = await raw.read(consumer="c")
    assert received.value == b"\xff\x00" == received.message.payload


async def test_wrong_values_are_refused_on_both_sides(app: App, engine: Engine) -> None:
    """Before they are pushed, and when they are decoded."""
    orders = app.queue("orders", Order)
    await orders.define()
    with pytest.raises(InvalidInput):
        await orders.push("no order")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await orders.push(Order(1), delay=-1)
    await engine.queues.push("orders", b'{"id": "x"}')
    (received,) = await orders.read(consumer="c")
    with pytest.raises(InvalidInput, match="id"):
        _ = received.value


async def test_times_are_seconds_or_timedeltas(app: App, clock: Clock) -> None:
    """Delay, time to live, lock, the delay of a nack."""
    numbers = app.queue("n", int)
    await numbers.define(lock_ms=1_000)
    await numbers.push(1, delay=1.5, ttl=timedelta(seconds=10))
    await clock.advance(1_499)
    assert await numbers.read(consumer="c") == []
    await clock.advance(1)
    (received,) = await numbers.read(consumer="c")
    deadline = await received.extend(timedelta(seconds=5))
    assert deadline == received.deadline == clock.now + timedelta(seconds=5)
    await received.nack(delay=2, reason="busy")
    with pytest.raises(StaleDelivery):
        await received.extend()
    await clock.advance(2_000)
    (received,) = await numbers.read(consumer="c")
    await received.release()
    (received,) = await numbers.read(consumer="c")
    await received.reject("enough")
    assert await counts(app.engine, "n") == {"dropped": 1}


async def test_an_ack_takes_its_effects_along(app: App) -> None:
    """Messages for other queues and executions, all or nothing."""
    orders, mails = app.queue("orders", Order), app.queue("mails", str)
    await orders.define()
    await mails.define()
    await orders.push_many([Order(n) for n in range(3)])
    (received,) = await orders.read(consumer="c")
    await received.ack(mails.pushing("hello"), Submit(NewExecution(kind="bill")))
    (mail,) = await mails.read(consumer="c")
    assert mail.value == "hello"
    assert [item.kind for item in (await app.engine.list(Filter())).items] == ["bill"]


def test_plain_code_uses_queues_too(real_url: str) -> None:
    """A SyncClient waits for any call of the app."""
    app = App(real_url)
    numbers = app.queue("n", int)
    with SyncClient(app) as client:
        client.wait(numbers.define())
        client.wait(numbers.push(5))
        (received,) = client.wait(numbers.read(consumer="c"))
        assert received.value == 5
