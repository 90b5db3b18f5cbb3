"""hf_budget_forget."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.limits import make_budget


async def test_one_who_gives_up_is_not_woken(store: Store) -> None:
    """Unless it waits since a later grant."""
    await make_budget(store, hard=0)
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [("e1", 1, ["b"]), ("e2", 5, ["b"])])
    await store.budgets.forget(tag, [("e1", "1", ["b"]), ("e2", "4", ["b"])])
    assert (await store.budgets.get("b")).waiting == 1
    await store.budgets.set("b", {("tokens", "hard"): 1})
    assert await store.outboxes.read(tag) == [b"w\ne2\nb:b"]
