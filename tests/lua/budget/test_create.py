"""hf_budget_create."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetConflict, BudgetNotFound, BudgetTooDeep
from holdfast.model.budgets import Limit, NewBudget, OnHard
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused
from tests.support.limits import make_budget


async def test_a_budget_is_as_it_was_asked_for(store: Store, clock: Clock) -> None:
    """Limits by dimension, tenant, period, and what a hard breach does."""
    limits = {"tokens": Limit(hard=5, soft=3), "calls": Limit(soft=1), "ms": Limit(hard=0)}
    new = NewBudget(id="b", tenant="t", limits=limits, reset_ms=5_000, on_hard=OnHard.CANCEL)
    assert await store.budgets.create(new) is True
    found = await store.budgets.get("t/b")
    assert (found.id, found.tenant, found.parent, found.on_hard) == ("b", "t", None, "cancel")
    assert found.limits == limits
    assert (found.reset_ms, found.next_reset_at) == (5_000, from_ms(clock.now_ms + 5_000))
    assert (found.usage, found.reserved, found.over_soft, found.waiting) == ({}, {}, (), 0)
    assert (found.breaches.hard, found.breaches.soft, found.breaches.last) == (0, 0, None)


async def test_the_same_again_is_no_news(store: Store, dump: Dump) -> None:
    """Also when its limits were changed in between: the call is the same."""
    new = NewBudget(id="b", limits={"tokens": Limit(hard=5)})
    await store.budgets.create(new)
    await store.budgets.set("b", {("tokens", "hard"): 9})
    before = dump()
    assert await store.budgets.create(new) is False
    assert dump() == before


@pytest.mark.parametrize(
    "fields",
    [{"parent": "root"}, {"reset_ms": 1_000}, {"on_hard": "cancel"}, {"limits": {}}],
)
async def test_other_content_is_refused(store: Store, dump: Dump, fields: dict[str, str]) -> None:
    """An id means one budget."""
    await make_budget(store, "root")
    await make_budget(store)
    other = NewBudget(**{"id": "b", "limits": {"tokens": Limit(hard=100)}, **fields})  # type: ignore[arg-type]
    await refused(store.budgets.create(other), BudgetConflict, dump, id="b")


async def test_a_child_lives_with_its_root(store: Store, dump: Dump) -> None:
    """So a charge to both is one call, whatever their ids."""
    await make_budget(store, "root")
    for child, parent in (("c1", "root"), ("c2", "c1"), ("c3", "c2")):
        await make_budget(store, child, parent=parent)
        assert (await store.budgets.get(child)).parent == parent
        assert await store.budgets.root(child) == "root"
    tag = store.budget_tag("root")
    records = {key for key in dump() if ":budget:" in key}
    assert records == {f"{tag}:budget:{name}" for name in ("root", "c1", "c2", "c3")}


async def test_an_unknown_parent_is_refused(store: Store, dump: Dump) -> None:
    """A tree grows from its root."""
    child = NewBudget(id="c", parent="none")
    await refused(store.budgets.create(child), BudgetNotFound, dump, id="none")


async def test_an_id_cannot_be_in_two_trees(store: Store) -> None:
    """Neither as the child of another root, nor as a root."""
    for root in ("r1", "r2"):
        await make_budget(store, root)
    await make_budget(store, "c", parent="r1")
    for other in (NewBudget(id="c", parent="r2"), NewBudget(id="c")):
        with pytest.raises(BudgetConflict):
            await store.budgets.create(other)
    await make_budget(store, "own")
    with pytest.raises(BudgetConflict):
        await store.budgets.create(NewBudget(id="own", parent="r1"))


async def test_a_tree_has_a_bounded_depth(store: Store) -> None:
    """A charge walks up to the root, so the way is short."""
    parent = await make_budget(store, "d0")
    for depth in range(1, 8):
        parent = await make_budget(store, f"d{depth}", parent=parent)
    with pytest.raises(BudgetTooDeep):
        await store.budgets.create(NewBudget(id="d8", parent=parent))
