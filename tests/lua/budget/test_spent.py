"""hf_budget_spent."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.limits import make_budget, reserve


async def test_usage_is_known_by_execution_and_by_tenant(store: Store) -> None:
    """Each accepted charge once, however many ancestors it counts against."""
    await make_budget(store, "top", tenant="t", hard=10)
    await make_budget(store, "c1", tenant="t", parent="top")
    await make_budget(store, "solo", tenant="t")
    await make_budget(store, "else", tenant="other")
    await store.budgets.report("t/c1", {"tokens": 4}, "k", "e1")
    await store.budgets.report("t/c1", {"tokens": 4}, "k", "e1")
    await store.budgets.report("t/c1", {"tokens": 9}, None, "e1")
    await reserve(store, 5, budget="t/solo")
    await store.budgets.settle("t/solo", {"tokens": 2, "calls": 1}, "k", "e1")
    await store.budgets.report("other/else", {"tokens": 1}, None, "e2")
    assert await store.budgets.spent("e1") == {
        "t/c1": {"tokens": 4},
        "t/solo": {"tokens": 2, "calls": 1},
    }
    assert await store.budgets.total("t") == {"tokens": 6, "calls": 1}
    assert await store.budgets.total("other") == {"tokens": 1}
    assert await store.budgets.spent("nobody") == {}


async def test_a_reset_does_not_change_history(store: Store) -> None:
    """What was spent was spent."""
    await make_budget(store)
    await store.budgets.report("b", {"tokens": 4}, None, "e1")
    await store.budgets.reset("b")
    assert await store.budgets.spent("e1") == {"b": {"tokens": 4}}
    assert await store.budgets.total("default") == {"tokens": 4}
