"""hf_budget_report."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.errors import BudgetNotFound
from holdfast.model.budgets import ChargeStatus, OnHard
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.limits import make_budget, report, reserve, standing


async def test_what_fits_is_charged(store: Store) -> None:
    """Up to the limit itself, in any dimension, also in one without a limit."""
    await make_budget(store, hard=10)
    assert (await report(store, 4)).status is ChargeStatus.OK
    assert (await report(store, 6)).status is ChargeStatus.OK
    charge = await store.budgets.report("b", {"tokens": 0, "calls": 7}, None)
    assert charge.status is ChargeStatus.OK
    assert await standing(store) == ({"tokens": 10, "calls": 7}, {})


async def test_a_hard_breach_changes_nothing_and_keeps_its_key(store: Store) -> None:
    """The whole report is refused, and may be sent again when there is room."""
    await make_budget(store, hard=10)
    await report(store, 8)
    usage = {"calls": 1, "tokens": 3}
    refused = await store.budgets.report("b", usage, "k")
    assert refused.status is ChargeStatus.HARD_BREACH
    assert (refused.budget, refused.dimension) == ("b", "tokens")
    assert (refused.current, refused.limit, refused.on_hard) == (8, 10, OnHard.REFUSE)
    assert await standing(store) == ({"tokens": 8}, {})
    await store.budgets.set("b", {("tokens", "hard"): 11})
    assert (await store.budgets.report("b", usage, "k")).status is ChargeStatus.OK
    assert (await store.budgets.report("b", usage, "k")).status is ChargeStatus.ALREADY_APPLIED
    assert await standing(store) == ({"tokens": 11, "calls": 1}, {})


async def test_reserved_amounts_count(store: Store) -> None:
    """What is set aside cannot be charged by others."""
    await make_budget(store, hard=10)
    await reserve(store, 6)
    assert (await report(store, 5)).status is ChargeStatus.HARD_BREACH
    assert (await report(store, 4)).status is ChargeStatus.OK


async def test_a_soft_breach_is_charged_and_told(store: Store) -> None:
    """`current` is after the charge. The history has the crossing, not each report above it."""
    await make_budget(store, limits={"tokens": {"hard": 20, "soft": 10}})
    assert (await report(store, 10)).status is ChargeStatus.OK
    charge = await report(store, 2)
    assert (charge.status, charge.dimension) == (ChargeStatus.SOFT_BREACH, "tokens")
    assert (charge.current, charge.limit) == (12, 10)
    assert (await report(store, 1)).status is ChargeStatus.SOFT_BREACH
    found = await store.budgets.get("b")
    assert (found.usage, found.over_soft, found.breaches.soft) == ({"tokens": 13}, ("tokens",), 2)
    assert len(await store.budgets.breaches("b")) == 1


async def test_a_child_counts_against_all_its_ancestors(store: Store) -> None:
    """Charged to all of them, or to none if it does not fit into one."""
    await make_budget(store, "tenant", hard=10)
    await make_budget(store, "session", parent="tenant", hard=50)
    await make_budget(store, "run", parent="session", hard=50)
    await make_budget(store, "other", parent="tenant", hard=50)
    await report(store, 4, budget="run")
    await report(store, 3, budget="other")
    charge = await report(store, 4, budget="run")
    assert (charge.status, charge.budget, charge.current) == (
        ChargeStatus.HARD_BREACH,
        "tenant",
        7,
    )
    used = [(await standing(store, one))[0]["tokens"] for one in ("run", "session", "tenant")]
    assert used == [4, 4, 7]


async def test_a_key_belongs_to_its_budget(store: Store) -> None:
    """The same key on another budget is another charge."""
    for name in ("b", "c"):
        await make_budget(store, name)
    assert (await report(store, 1, "k", "b")).status is ChargeStatus.OK
    assert (await report(store, 1, "k", "c")).status is ChargeStatus.OK


async def test_a_call_sent_twice_is_charged_once(store: Store, dump: Dump) -> None:
    """Also without a key of the caller: the call has one of its own."""
    await make_budget(store)
    tag = await store.budgets.tag("b")
    args = ("b", "minted", "60000", "", "tokens", "5")
    await store.caller.write("hf_budget_report", tag, *args)
    before = dump()
    assert await store.caller.write("hf_budget_report", tag, *args) == [b"already_applied"]
    assert dump() == before


async def test_numbers_stay_exact(store: Store) -> None:
    """Up to where a double is exact; beyond is a hard breach, not a rounded sum."""
    await make_budget(store, limits={})
    largest = 2**53 - 1
    assert (await report(store, largest - 1)).accepted
    assert (await report(store, 1)).accepted
    assert await standing(store) == ({"tokens": largest}, {})
    charge = await report(store, 1)
    assert (charge.status, charge.limit) == (ChargeStatus.HARD_BREACH, largest)


async def test_concurrent_reports_never_pass_the_limit(store: Store) -> None:
    """As many are accepted as fit."""
    await make_budget(store, hard=50)
    charges = await asyncio.gather(*(report(store, 3, f"k{n}") for n in range(40)))
    accepted = sum(charge.accepted for charge in charges)
    assert accepted == 16
    assert await standing(store) == ({"tokens": 48}, {})


async def test_an_unknown_budget_is_refused(store: Store) -> None:
    """Nothing is charged to nobody."""
    with pytest.raises(BudgetNotFound):
        await report(store, 1, budget="none")
