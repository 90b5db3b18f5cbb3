"""Random conditions and signals: the store resumes exactly when `conditions.holds` says so."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import conditions
from holdfast.model.conditions import Seen
from holdfast.model.executions import NewExecution
from holdfast.model.states import State
from holdfast.model.waitpoints import NewSignal, NewWaitpoint
from holdfast.store.waitpoints import Sender
from holdfast.testing.clock import START_MS
from tests.property.running import thorough
from tests.property.waits_machine import NAMES, conditions_over, people, signal_names
from tests.property.waits_model import effect_of, payload_of
from tests.property.world import World, open_world
from tests.support.lifecycle import claim_ready
from tests.support.waits import send_item, source_of

payloads = st.one_of(
    st.sampled_from((1, 5, None, "text", {"a": 1}, [1, 2])), st.integers(-(2**70), 2**70)
)
signals = st.tuples(
    st.sampled_from(NAMES), signal_names, people, payloads, st.sampled_from((0, 0, 0, 600, 5_000))
)


async def check(world: World, condition: Any, early: list[Any], late: list[Any], n: int) -> None:
    """Send signals before and during a wait, and compare after each."""
    store, now = world.store, START_MS
    await world.clock.set(now)
    parsed = conditions.parse(condition, NAMES)
    await store.executions.create([NewExecution(kind="work", id=f"e{n}", retention_ms=0)])
    (claim,) = await claim_ready(
        store,
        world.tag,
        request=f"r{n}",
        worker="w",
        lanes=["default"],
        capabilities=[],
        limit=1,
        lease_ms=60_000,
    )
    items = [NewWaitpoint(name=name, key=name) for name in NAMES]
    points = await store.waitpoints.prepare(claim.id, claim.lease.fence, items)
    ids = {point.name: point.id for point in points}
    seen: list[Seen] = []

    async def send(at: str, name: str, by: str, payload: Any) -> str:
        source = source_of(by)
        who = (source.type, source.identity)
        seen.append(Seen(waitpoint=at, name=name, payload=payload, source=who))
        item = NewSignal(waitpoint=ids[at], name=name, payload=payload_of(payload), source=source)
        return (await send_item(store, item, Sender())).value

    for at, name, by, payload, _ in early:
        assert await send(at, name, by, payload) == "buffered"
    answer = await store.waitpoints.suspend(
        claim.id,
        claim.lease.fence,
        items,
        parsed,
        names=NAMES,
        key="w",
        timeout_ms=None,
        on_timeout="fail",
        reason="signal",
    )
    expected = conditions.holds(parsed, seen, now, START_MS)
    assert (answer.state is State.ACTIVE) == expected
    for at, name, by, payload, later_ms in late:
        if expected:
            break
        now += later_ms
        await world.clock.set(now)
        await world.clock.tick()
        expected = conditions.holds(parsed, seen, now, START_MS)
        found = (await store.queries.describe(claim.id)).state
        assert (found is State.WAITING) == expected
        if not expected:
            effect = await send(at, name, by, payload)
            expected = conditions.holds(parsed, seen, now, START_MS)
            *earlier, signal = seen
            assert effect == ("resumed" if expected else effect_of(parsed, earlier, signal))
    await store.executions.cancel(claim.id, "")
    await world.clock.tick()


def main() -> None:
    """Try random conditions; raises with the shortest failing example."""
    with open_world() as world:
        world.run(world.reset())
        numbers = iter(range(10**9))

        @thorough(200, large=5000)
        @given(conditions_over(NAMES), st.lists(signals, max_size=4), st.lists(signals, max_size=6))
        def compare(condition: Any, early: list[Any], late: list[Any]) -> None:
            world.run(check(world, condition, early, late, next(numbers)))

        compare()


if __name__ == "__main__":
    main()
