"""hf_budget_admit."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.limits import make_budget, report, reserve


async def test_an_execution_is_admitted_while_something_is_left(store: Store) -> None:
    """Used and reserved together stay below the hard limit."""
    await make_budget(store, hard=10)
    tag = await store.budgets.tag("b")
    await report(store, 4)
    await reserve(store, 5)
    assert await store.budgets.admit(tag, [("e1", 1, ["b"])]) == [None]
    await report(store, 1)
    assert await store.budgets.admit(tag, [("e1", 1, ["b"]), ("e2", 1, ["b"])]) == ["b", "b"]
    assert (await store.budgets.get("b")).waiting == 2


async def test_it_waits_for_the_ancestor_that_is_used_up(store: Store) -> None:
    """Raising the child alone does not help."""
    await make_budget(store, "top", hard=3)
    await make_budget(store, parent="top")
    await report(store, 3)
    tag = await store.budgets.tag("b")
    assert await store.budgets.admit(tag, [("e1", 1, ["b"])]) == ["top"]
    await store.budgets.reset("b")
    assert await store.outboxes.read(tag) == []
    await store.budgets.reset("top")
    assert await store.outboxes.read(tag) == [b"w\ne1\nb:top"]


async def test_one_that_asks_again_keeps_its_place(store: Store) -> None:
    """It may look by itself meanwhile."""
    await make_budget(store, hard=0)
    tag = await store.budgets.tag("b")
    for name, epoch in (("e1", 1), ("e2", 1), ("e1", 2)):
        await store.budgets.admit(tag, [(name, epoch, ["b"])])
    await store.budgets.set("b", {("tokens", "hard"): 1})
    assert await store.outboxes.read(tag) == [b"w\ne1\nb:b", b"w\ne2\nb:b"]


async def test_an_unknown_budget_limits_nothing(store: Store) -> None:
    """It cannot be asked."""
    assert await store.budgets.admit(store.budget_tag("none"), [("e1", 1, ["none"])]) == [None]
