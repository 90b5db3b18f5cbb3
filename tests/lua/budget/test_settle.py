"""hf_budget_settle."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetNotFound, ReservationNotFound
from holdfast.model.budgets import ChargeStatus
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused
from tests.support.limits import make_budget, report, reserve, settle, standing


async def test_the_difference_returns(store: Store) -> None:
    """What was used is charged, in the budget and all above it."""
    await make_budget(store, "top")
    await make_budget(store, parent="top")
    await reserve(store, 10)
    assert (await settle(store, 4)).status is ChargeStatus.OK
    for name in ("b", "top"):
        assert await standing(store, name) == ({"tokens": 4}, {})


async def test_a_settlement_counts_once(store: Store, dump: Dump) -> None:
    """Repeated, it changes nothing."""
    await make_budget(store)
    await reserve(store, 10)
    await settle(store, 4)
    before = dump()
    assert (await settle(store, 9)).status is ChargeStatus.ALREADY_APPLIED
    assert dump() == before


async def test_more_than_was_reserved_must_fit(store: Store) -> None:
    """The excess is charged like a report; if it does not fit, the reservation stays."""
    await make_budget(store, hard=10)
    await reserve(store, 6)
    await report(store, 2)
    charge = await settle(store, 9)
    assert (charge.status, charge.current, charge.limit) == (ChargeStatus.HARD_BREACH, 8, 10)
    assert await standing(store) == ({"tokens": 2}, {"tokens": 6})
    assert (await settle(store, 8)).status is ChargeStatus.OK
    assert await standing(store) == ({"tokens": 10}, {})


async def test_what_was_reserved_can_be_settled_under_a_lowered_limit(store: Store) -> None:
    """It was promised."""
    await make_budget(store, hard=10)
    await reserve(store, 6)
    await store.budgets.set("b", {("tokens", "hard"): 1})
    assert (await settle(store, 6)).status is ChargeStatus.OK


async def test_a_late_settlement_is_charged_like_a_report(store: Store, clock: Clock) -> None:
    """The worker was slow, not dead: what it used was used."""
    await make_budget(store, hard=10)
    await reserve(store, 6, ttl_ms=1_000)
    await clock.advance_and_tick(1_000)
    await report(store, 7)
    assert (await settle(store, 6)).status is ChargeStatus.HARD_BREACH
    assert (await settle(store, 3)).status is ChargeStatus.OK
    assert (await settle(store, 3)).status is ChargeStatus.ALREADY_APPLIED
    assert await standing(store) == ({"tokens": 10}, {})


async def test_a_soft_breach_is_told(store: Store) -> None:
    """As by a report."""
    await make_budget(store, limits={"tokens": {"soft": 3}})
    await reserve(store, 6)
    charge = await settle(store, 5)
    assert (charge.status, charge.current) == (ChargeStatus.SOFT_BREACH, 5)


async def test_a_key_that_reserved_nothing_is_refused(store: Store, dump: Dump) -> None:
    """A typo must not be charged."""
    await make_budget(store)
    await refused(settle(store, 1), ReservationNotFound, dump, id="b", key="k")


async def test_an_unknown_budget_is_refused(store: Store) -> None:
    """Nothing is charged to nobody."""
    with pytest.raises(BudgetNotFound):
        await settle(store, 1, budget="none")


async def test_what_returns_lets_executions_go_on(store: Store) -> None:
    """Whoever waits for the budget is told."""
    await make_budget(store, hard=10)
    await reserve(store, 10)
    tag = await store.budgets.tag("b")
    assert await store.budgets.admit(tag, [("e1", 1, ["b"])]) == ["b"]
    await settle(store, 10)
    assert await store.outboxes.read(tag) == []
    await store.budgets.set("b", {("tokens", "hard"): 30})
    assert await store.outboxes.read(tag) == [b"w\ne1\nb:b"]
