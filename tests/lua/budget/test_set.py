"""hf_budget_set."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetNotFound
from holdfast.model.budgets import Limit
from holdfast.store.store import Store
from tests.support.limits import make_budget, report


async def test_what_is_named_changes_and_the_rest_stays(store: Store) -> None:
    """None removes a limit; a new dimension is added."""
    await make_budget(store, limits={"tokens": {"hard": 9, "soft": 5}, "calls": {"hard": 3}})
    changes = {("tokens", "hard"): 8, ("calls", "hard"): None, ("ms", "soft"): 7}
    await store.budgets.set("b", changes)
    found = (await store.budgets.get("b")).limits
    assert found == {"tokens": Limit(hard=8, soft=5), "ms": Limit(soft=7)}


async def test_whoever_waits_is_told_when_something_is_left(store: Store) -> None:
    """In order; of more than a hundred the rest by timer."""
    await make_budget(store, hard=0)
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [(f"e{n:03}", 1, ["b"]) for n in range(150)])
    await store.budgets.set("b", {("tokens", "soft"): 5})
    assert await store.outboxes.read(tag) == []
    await store.budgets.set("b", {("tokens", "hard"): 5})
    assert len(await store.outboxes.read(tag)) == 100
    await store.timers.tick(tag, 10)
    assert len(await store.outboxes.read(tag)) == 150


async def test_a_hundred_who_wait_leave_nothing_to_the_timer(store: Store) -> None:
    """All of them hear of it at once."""
    await make_budget(store, hard=0)
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [(f"e{n:03}", 1, ["b"]) for n in range(100)])
    await store.budgets.set("b", {("tokens", "hard"): 5})
    assert len(await store.outboxes.read(tag)) == 100
    fired, _ = await store.timers.tick(tag, 10)
    assert fired == 0


async def test_a_soft_limit_is_found_passed_anew(store: Store) -> None:
    """A changed limit is crossed again."""
    await make_budget(store, limits={"tokens": {"soft": 1}})
    await report(store, 2)
    await store.budgets.set("b", {("tokens", "soft"): 3})
    assert (await store.budgets.get("b")).over_soft == ()
    await report(store, 2)
    assert len(await store.budgets.breaches("b")) == 2


async def test_a_call_sent_again_late_does_not_undo_a_later_one(store: Store) -> None:
    """The first answer, and nothing else."""
    await make_budget(store)
    tag = await store.budgets.tag("b")
    await store.caller.write("hf_budget_set", tag, "b", "r1", "h|tokens", "5")
    await store.caller.write("hf_budget_set", tag, "b", "r2", "h|tokens", "6")
    await store.caller.write("hf_budget_set", tag, "b", "r1", "h|tokens", "5")
    assert (await store.budgets.get("b")).limits == {"tokens": Limit(hard=6)}


async def test_an_unknown_budget_is_refused(store: Store) -> None:
    """It is not created by the way."""
    with pytest.raises(BudgetNotFound):
        await store.budgets.set("none", {("tokens", "hard"): 1})
