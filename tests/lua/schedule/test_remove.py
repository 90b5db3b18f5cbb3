"""hf_schedule_remove."""

from __future__ import annotations

from holdfast.model.states import State
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, claim_one, state_of
from tests.support.scheduling import fired, plan, put, step


async def test_nothing_of_a_schedule_is_left(store: Store, dump: Dump) -> None:
    """A repetition finds nothing to remove."""
    await put(store, plan())
    assert [key for key in dump() if "daily" in key]
    assert await store.schedules.remove("daily") is True
    assert "daily" not in str(dump())
    assert await store.schedules.remove("daily") is False
    assert await store.schedules.read("daily") == ((await store.schedules.read("x"))[0], None)


async def test_what_was_fired_goes_on_in_its_order(store: Store) -> None:
    """Also what lined up: it was accepted."""
    schedule = await put(store, plan(overlap="queue"))
    await store.schedules.fire(schedule, [step(0), step(1)])
    await store.schedules.remove("daily")
    first, second = await fired(store)
    assert await state_of(store, second) is State.DELAYED
    claim = await claim_one(store, first)
    await store.executions.complete(first, claim.lease, b"1")
    assert await state_of(store, second) is State.WAITING
