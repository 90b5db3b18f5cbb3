"""Asking for more of a budget, when processes die between the answer and the new limit."""

from __future__ import annotations

import pytest

from holdfast.engine import Engine
from holdfast.model.budgets import Charge, ChargeStatus
from holdfast.model.executions import Claim
from holdfast.model.states import State
from holdfast.model.waitpoints import NewSignal
from holdfast.store.waitpoints import Sender
from tests.support.limits import claim_one_limited

pytestmark = pytest.mark.usefixtures("clock")


async def asked(engine: Engine, used: int = 0) -> tuple[Claim, Charge]:
    """Return an execution that asks for more of a budget of 100, of which some is used."""
    await engine.budgets.create("b", limits={"tokens": {"hard": 100}}, on_hard="suspend")
    made = await engine.submit("work", budgets=("b",))
    claim = await claim_one_limited(engine, made.id)
    if used:
        await spend(engine, claim, used, "first")
    charge = await spend(engine, claim, 101 - used)
    assert charge.state is State.SUSPENDED
    return claim, charge


async def spend(engine: Engine, claim: Claim, tokens: int, key: str = "k") -> Charge:
    return await engine.budgets.spending.report(claim.id, claim.lease, {"tokens": tokens}, key=key)


async def answer_and_die(engine: Engine, charge: Charge, limit: int = 500) -> None:
    """Take an answer in a process that dies before it carries the new limit over."""
    assert charge.waitpoint is not None
    payload = f'{{"limit": {limit}}}'.encode()
    signal = NewSignal(waitpoint=charge.waitpoint, name="yes", payload=payload)
    await engine.store.waitpoints.signal(signal, Sender())


async def hard(engine: Engine) -> int | None:
    return (await engine.budgets.get("b")).limits["tokens"].hard


async def test_any_process_raises_the_limit_later(engine: Engine) -> None:
    """What the answer granted waits in the outbox, and frees who waits for the budget."""
    claim, charge = await asked(engine, used=100)
    await answer_and_die(engine, charge)
    assert await hard(engine) == 100
    await engine.courier.carry_all()
    assert await hard(engine) == 500
    back = await claim_one_limited(engine, claim.id)
    assert (await spend(engine, back, 1)).status is ChargeStatus.OK


async def test_who_was_held_back_meanwhile_is_woken(engine: Engine) -> None:
    """A claim that came before the new limit found nothing left."""
    claim, charge = await asked(engine, used=100)
    await answer_and_die(engine, charge)
    for tag in engine.store.tags():
        await engine.store.timers.tick(tag, 10)
    with pytest.raises(ValueError, match="not enough values"):
        await claim_one_limited(engine, claim.id)
    assert (await engine.describe(claim.id)).state is State.RATE_LIMITED
    await engine.courier.carry_all()
    back = await claim_one_limited(engine, claim.id)
    assert (await spend(engine, back, 1)).status is ChargeStatus.OK


async def test_an_answer_on_its_way_is_not_asked_for_again(engine: Engine) -> None:
    """The charge waits for it."""
    claim, charge = await asked(engine)
    await answer_and_die(engine, charge)
    back = await claim_one_limited(engine, claim.id)
    assert (await spend(engine, back, 101)).status is ChargeStatus.OK
    assert len(await engine.waitpoints.of(claim.id)) == 1


async def test_too_little_is_asked_for_again(engine: Engine) -> None:
    """At another waitpoint, with the new limit."""
    claim, charge = await asked(engine)
    assert charge.waitpoint is not None
    await engine.waitpoints.signal(
        NewSignal(waitpoint=charge.waitpoint, name="yes", payload=b'{"limit": 101}')
    )
    back = await claim_one_limited(engine, claim.id)
    again = await spend(engine, back, 102)
    assert (again.limit, again.waitpoint) == (101, f"{claim.id}~w2")
