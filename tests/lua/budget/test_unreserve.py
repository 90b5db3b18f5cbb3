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
    await reserve(store, 10, asker="me")
    await store.budgets.unreserve("b", "k", "me")
    for name in ("b", "top"):
        assert await standing(store, name) == ({}, {})
    before = dump()
    await store.budgets.unreserve("b", "k", "me")
    assert dump() == before
    assert (await report(store, 4, "k")).status is ChargeStatus.OK


async def test_a_reservation_stays_for_others_who_asked(store: Store, dump: Dump) -> None:
    """Until each has given it back; who did so before, or never had it, changes nothing."""
    await make_budget(store)
    for asker in ("me", "you", "me"):
        await reserve(store, 10, asker=asker)
    await store.budgets.unreserve("b", "k", "me")
    before = dump()
    for asker in ("me", "nobody"):
        await store.budgets.unreserve("b", "k", asker)
        assert dump() == before
    assert await standing(store) == ({}, {"tokens": 10})
    await store.budgets.unreserve("b", "k", "you")
    assert await standing(store) == ({}, {})


async def test_older_processes_do_not_say_who_they_are(store: Store) -> None:
    """They cancel the reservation."""
    await make_budget(store)
    await reserve(store, 10)
    tag = await store.budgets.tag("b")
    await store.caller.write("hf_budget_unreserve", tag, "b", "k")
    assert await standing(store) == ({}, {})


async def test_whoever_waits_is_told(store: Store) -> None:
    """Something is left again."""
    await make_budget(store, hard=5)
    await reserve(store, 5, asker="me")
    tag = await store.budgets.tag("b")
    await store.budgets.admit(tag, [("e1", 1, ["b"])])
    await store.budgets.unreserve("b", "k", "me")
    assert woken(await store.outboxes.read(tag)) == ["e1"]


async def test_an_unknown_budget_is_refused(store: Store, dump: Dump) -> None:
    """Nothing is written."""
    await make_budget(store)
    before = dump()
    tag = await store.budgets.tag("b")
    with pytest.raises(BudgetNotFound):
        await store.caller.write("hf_budget_unreserve", tag, "none", "k")
    assert dump() == before
