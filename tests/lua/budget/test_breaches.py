"""hf_budget_breaches."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetNotFound
from holdfast.store.store import Store
from tests.support.limits import make_budget, report


async def test_the_last_breaches_are_kept_with_who_did_it(store: Store) -> None:
    """Oldest first, of the budget whose limit it is, and not for ever."""
    await make_budget(store, "top", hard=10)
    await make_budget(store, parent="top")
    await report(store, 10)
    for n in range(105):
        await store.budgets.report("b", {"tokens": 1}, None, f"e{n}")
    found = await store.budgets.breaches("top")
    assert [one.execution for one in found] == [f"e{n}" for n in range(5, 105)]
    assert {(one.kind, one.current, one.limit) for one in found} == {("hard", 10, 10)}
    assert await store.budgets.breaches("b") == []


async def test_an_unknown_budget_is_refused(store: Store) -> None:
    """No budget, no history."""
    with pytest.raises(BudgetNotFound):
        await store.budgets.breaches("none")
