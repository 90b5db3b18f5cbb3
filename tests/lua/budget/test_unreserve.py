"""hf_budget_unreserve."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetNotFound
from holdfast.model.budgets import ChargeStatus
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.limits import make_budget, report, reserve, standing, woken


async def test_a_reservation_is_as_if_it_had_never_been(store: Store, dump: Dump) -> None:
    """In the budget and all above it; its key is free again."""
    await make_budget(store, "top")
    await make_budget(store, parent="top")
    await reserve(store, 10)
    await store.budgets.unreserve("b", "k")
    for name in ("b", "top"):
        assert await standing(store, name) == ({}, {})
    before = dump()
    await store.budgets.unreserve("b", "k")
    assert dump() == before
    assert (await report(store, 4, "k")).status is ChargeStatus.OK


async def test_whoever_waits_is_told(store: Store) -> None:
    """Something is left again."""
    await make_budget(store, hard=5)
    await reserve(store, 5)
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [("e1", 1, ["b"])])
    await store.budgets.unreserve("b", "k")
    assert woken(await store.outboxes.read(tag)) == ["e1"]


async def test_an_unknown_budget_is_refused(store: Store, dump: Dump) -> None:
    """Nothing is written."""
    await make_budget(store)
    before = dump()
    tag = await store.budgets.tag("b")
    with pytest.raises(BudgetNotFound):
        await store.caller.write("hf_budget_unreserve", tag, "none", "k")
    assert dump() == before
