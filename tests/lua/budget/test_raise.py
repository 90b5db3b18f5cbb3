"""hf_budget_raise."""

from __future__ import annotations

import pytest

from holdfast.errors import BudgetNotFound
from holdfast.model.budgets import Limit
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.limits import make_budget, report, woken


async def raise_to(store: Store, limit: int, key: str = "e~w1", dimension: str = "tokens") -> bytes:
    tag = await store.budgets.tag("b")
    (word,) = await store.caller.write(
        "hf_budget_raise", tag, "b", key, "60000", dimension, str(limit)
    )
    return bytes(word)


async def test_a_higher_limit_is_set_once(store: Store) -> None:
    """Repeated after the limit was lowered by hand, it does not raise it again."""
    await make_budget(store, limits={"tokens": {"hard": 9, "soft": 5}})
    assert await raise_to(store, 20) == b"raised"
    assert (await store.budgets.get("b")).limits == {"tokens": Limit(hard=20, soft=5)}
    await store.budgets.set("b", {("tokens", "hard"): 4})
    assert await raise_to(store, 20) == b"already_applied"
    assert (await store.budgets.get("b")).limits == {"tokens": Limit(hard=4, soft=5)}


async def test_a_limit_is_never_lowered(store: Store) -> None:
    """One that is higher stays, and one that was removed is not set again."""
    await make_budget(store, hard=30)
    assert await raise_to(store, 20) == b"enough"
    assert await raise_to(store, 20, key="e~w2", dimension="calls") == b"enough"
    assert (await store.budgets.get("b")).limits == {"tokens": Limit(hard=30)}


async def test_whoever_waits_is_told(store: Store) -> None:
    """In the outbox of the budget's partition."""
    await make_budget(store, hard=5)
    await report(store, 5)
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [("e1", 1, ["b"])])
    await raise_to(store, 6)
    assert woken(await store.outboxes.read(tag)) == ["e1"]


async def test_an_unknown_budget_is_refused(store: Store, dump: Dump) -> None:
    """Nothing is written."""
    await make_budget(store)
    before = dump()
    tag = await store.budgets.tag("b")
    call = store.caller.write("hf_budget_raise", tag, "none", "k", "60000", "tokens", "1")
    with pytest.raises(BudgetNotFound):
        await call
    assert dump() == before
