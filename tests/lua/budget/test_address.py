"""hf_budget_address."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetNotFound
from holdfast.store.budgets import Budgets
from holdfast.store.store import Store
from tests.support.limits import make_budget, report


async def test_every_process_finds_a_budget_by_its_id(store: Store) -> None:
    """One that has not created it asks the partition of the id."""
    await make_budget(store, "root")
    for number in range(20):
        await make_budget(store, f"child{number}", parent="root")
    stranger = Budgets(store)
    names = ["root", *(f"child{n}" for n in range(20))]
    addresses = await stranger.addresses(names)
    assert [one.encode() for one in addresses] == [
        "b:root",
        *(f"b:root~child{n}" for n in range(20)),
    ]


async def test_an_unknown_budget_has_no_address(store: Store) -> None:
    """Asking makes nothing."""
    with pytest.raises(BudgetNotFound):
        await store.budgets.root("none")
    assert await make_budget(store, "none") == "none"
    assert await store.budgets.root("none") == "none"


async def test_an_address_without_a_budget_can_be_taken_over(store: Store) -> None:
    """A creation that died midway does not block the id."""
    for root in ("r1", "r2"):
        await make_budget(store, root)
    await store.budgets._address("r1", "", "c")
    await make_budget(store, "c", parent="r2")
    await report(store, 5, budget="c")
    assert (await store.budgets.get("r2")).usage == {"tokens": 5}
