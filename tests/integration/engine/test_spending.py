"""Charges to several budgets by a call that two processes work on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast.engine import Engine
from holdfast.model.budgets import ChargeStatus, Reservation
from holdfast.model.executions import Claim
from holdfast.store.store import Store
from tests.support.fault_injection import meanwhile, once
from tests.support.lifecycle import create_one
from tests.support.limits import claim_one_limited, make_budget, standing

pytestmark = pytest.mark.usefixtures("clock")
USAGE = {"tokens": 5}


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[Engine]:
    """An engine without maintenance on the store."""
    opened = Engine(store)
    yield opened
    await opened.close()


async def begin(engine: Engine) -> Claim:
    """Run an execution with two budgets, of which the second has less than it wants."""
    names = (await make_budget(engine.store, "a"), await make_budget(engine.store, "b", hard=1))
    return await claim_one_limited(engine, await create_one(engine.store, budgets=names))


async def reserve(engine: Engine, claim: Claim) -> Reservation:
    """Reserve what the tests want, always as the same call."""
    return await engine.budgets.spending.reserve(claim.id, claim.lease, USAGE, key="k")


async def test_what_is_reserved_is_not_given_back_by_a_process_that_was_refused(
    engine: Engine,
) -> None:
    """The other one has asked the same a moment later, when the second budget had more."""
    other, claim = Engine(engine.store), await begin(engine)
    answers: list[Reservation] = []

    async def repeat() -> None:
        await engine.store.budgets.set("b", {("tokens", "hard"): 100})
        answers.append(await reserve(other, claim))

    with meanwhile(engine.store.client, "hf_budget_unreserve", once(repeat)):
        assert (await reserve(engine, claim)).status is ChargeStatus.HARD_BREACH
    assert answers[0].accepted
    assert [await standing(engine.store, name) for name in "ab"] == [({}, USAGE)] * 2
    charge = await other.budgets.spending.settle(claim.id, claim.lease, USAGE, key="k")
    assert charge.status is ChargeStatus.OK
    await other.close()


async def test_processes_that_are_both_refused_leave_nothing_reserved(engine: Engine) -> None:
    """Each gives back what it was given."""
    other, claim = Engine(engine.store), await begin(engine)

    async def repeat() -> None:
        await reserve(other, claim)

    with meanwhile(engine.store.client, "hf_budget_unreserve", once(repeat)):
        await reserve(engine, claim)
    assert await standing(engine.store, "a") == ({}, {})
    await other.close()
