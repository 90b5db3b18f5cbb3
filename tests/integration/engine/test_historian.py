"""The historian: samples of what a store did, as lanes and queues."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.engine.historian import Historian
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.server.samples import claimed


async def test_a_sample_has_every_lane_and_queue(store: Store, clock: Clock) -> None:
    """Counts since the last one, by tenant."""
    engine = Engine(store)
    historian = Historian(store, engine.queues)
    await engine.queues.define("acme/mail")
    await engine.submit("k", tenant="acme", lane="bulk")
    assert await historian.sample() == 2
    await clock.advance(5_000)
    for _ in range(3):
        await engine.submit("k", tenant="acme", lane="bulk")
    claim = await claimed(engine, "bulk")
    await engine.complete(claim.id, claim.lease, b"1")
    await engine.queues.push("acme/mail", b"1")
    await historian.sample()

    (lane,) = await engine.histories.read("lane", points=720)
    assert (lane.tenant, lane.name, lane.step_ms) == ("acme", "bulk", 5_000)
    assert lane.figures["waiting"][-2:] == (1, 3)
    assert lane.figures["submitted"][-2:] == (0, 3)
    assert lane.figures["completed"][-1] == 1
    (queue,) = await engine.histories.read("queue", tenant="acme", span="week", points=10)
    assert (queue.figures["ready"][-1], queue.figures["pushed"][-1]) == (1, 1)
    assert await engine.histories.read("lane", tenant="other") == []
    await engine.close()
