"""hf_budget_reset, and the reset by timer."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetNotFound
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.limits import make_budget, report, reserve, standing


async def test_nothing_is_used_and_reservations_stay(store: Store) -> None:
    """Only of the budget itself: its parent goes on counting."""
    await make_budget(store, "top")
    await make_budget(store, parent="top", limits={"tokens": {"hard": 20, "soft": 5}})
    await report(store, 8)
    await reserve(store, 2)
    await store.budgets.reset("b")
    assert await standing(store) == ({}, {"tokens": 2})
    assert await standing(store, "top") == ({"tokens": 8}, {"tokens": 2})
    assert (await store.budgets.get("b")).over_soft == ()


async def test_whoever_waits_goes_on(store: Store) -> None:
    """The reset tells them."""
    await make_budget(store, hard=5)
    await report(store, 5)
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [("e1", 1, ["b"])])
    await store.budgets.reset("b")
    assert await store.outboxes.read(tag) == [b"w\ne1\nb:b"]


async def test_a_call_sent_again_late_does_not_reset_again(store: Store) -> None:
    """What was charged since stays charged."""
    await make_budget(store)
    tag = await store.budgets.tag("b")
    await store.caller.write("hf_budget_reset", tag, "b", "r1")
    await report(store, 3)
    await store.caller.write("hf_budget_reset", tag, "b", "r1")
    assert await standing(store) == ({"tokens": 3}, {})


async def test_a_period_resets_by_itself(store: Store, clock: Clock) -> None:
    """Each time it has passed, also when nobody looked for several periods."""
    await make_budget(store, hard=5, reset_ms=1_000)
    start = clock.now_ms
    await report(store, 5)
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [("e1", 1, ["b"])])
    await clock.advance_and_tick(999)
    assert await standing(store) == ({"tokens": 5}, {})
    await clock.advance_and_tick(1)
    assert await standing(store) == ({}, {})
    assert await store.outboxes.read(tag) == [b"w\ne1\nb:b"]
    assert (await store.budgets.get("b")).next_reset_at == from_ms(start + 2_000)
    await report(store, 5)
    await clock.advance_and_tick(3_500)
    assert (await store.budgets.get("b")).next_reset_at == from_ms(start + 5_000)
    assert await standing(store) == ({}, {})


async def test_an_unknown_budget_is_refused(store: Store) -> None:
    """There is nothing to start anew."""
    with pytest.raises(BudgetNotFound):
        await store.budgets.reset("none")
