"""hf_budget_reserve."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetNotFound
from holdfast.model.budgets import ChargeStatus
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.limits import make_budget, report, reserve, settle, standing


async def test_amounts_are_set_aside_in_all_ancestors(store: Store) -> None:
    """They are not used yet, and nobody else can have them."""
    await make_budget(store, "top", hard=10)
    await make_budget(store, parent="top", hard=50)
    answer = await reserve(store, 6)
    assert (answer.status, answer.reserved) == (ChargeStatus.OK, {"tokens": 6})
    assert await standing(store, "top") == ({}, {"tokens": 6})
    assert (await report(store, 5, budget="top")).status is ChargeStatus.HARD_BREACH


async def test_what_does_not_fit_is_refused(store: Store, dump: Dump) -> None:
    """Nothing is reserved, and the key is free."""
    await make_budget(store, hard=10)
    await report(store, 5)
    refused = await reserve(store, 6)
    assert (refused.status, refused.current, refused.limit) == (ChargeStatus.HARD_BREACH, 5, 10)
    assert refused.reserved == {}
    assert not [key for key in dump() if ":reservation:" in key]
    assert (await reserve(store, 5)).status is ChargeStatus.OK


async def test_a_key_reserves_once(store: Store) -> None:
    """Repeated, it says what is reserved; settled, that it is over."""
    await make_budget(store)
    await reserve(store, 6)
    again = await reserve(store, 9)
    assert (again.status, again.reserved) == (ChargeStatus.ALREADY_APPLIED, {"tokens": 6})
    await settle(store, 1)
    again = await reserve(store, 6)
    assert (again.status, again.reserved) == (ChargeStatus.ALREADY_APPLIED, {})
    assert await standing(store) == ({"tokens": 1}, {})


async def test_a_crashed_reservation_returns_by_timer(store: Store, clock: Clock) -> None:
    """To the budget and all above it, when its time is over and not before."""
    await make_budget(store, "top", hard=10)
    await make_budget(store, parent="top")
    await reserve(store, 6, ttl_ms=2_000)
    await clock.advance_and_tick(1_999)
    assert await standing(store, "top") == ({}, {"tokens": 6})
    await clock.advance_and_tick(1)
    for name in ("b", "top"):
        assert await standing(store, name) == ({}, {})


async def test_an_unknown_budget_is_refused(store: Store) -> None:
    """Nothing is reserved from nobody."""
    with pytest.raises(BudgetNotFound):
        await reserve(store, 1, budget="none")
