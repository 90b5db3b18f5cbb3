"""hf_budget_list."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.limits import make_budget


async def test_pages_go_through_all_in_the_order_of_tenant_and_id(store: Store) -> None:
    """Whatever tree they belong to, and nothing twice."""
    names = [("t1", "a"), ("t1", "b"), ("t1", "c"), ("t2", "a2"), ("t2", "r")]
    await make_budget(store, "r", tenant="t2")
    for tenant, budget_id in names[:-1]:
        await make_budget(store, budget_id, tenant=tenant, parent="t2/r")
    first, cursor = await store.budgets.list_budgets(None, 3, None)
    second, end = await store.budgets.list_budgets(None, 3, cursor)
    assert [(one.tenant, one.id) for one in (*first, *second)] == names
    assert end is None
    mine, _ = await store.budgets.list_budgets("t2", 10, None)
    assert [one.id for one in mine] == ["a2", "r"]
