"""hf_lease_check."""

from __future__ import annotations

import pytest

from holdfast.engine import Engine
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import WAYS_TO_LOSE, Dump, create_one, lose_lease, refused
from tests.support.limits import claim_one_limited, make_budget


async def test_the_holder_learns_its_budgets(engine: Engine) -> None:
    """And its tenant, which owns their names."""
    await make_budget(engine.store, "root")
    await make_budget(engine.store, parent="root")
    claim = await claim_one_limited(engine, await create_one(engine.store, budgets=("b",)))
    assert await engine.store.leases.check(claim.id, claim.lease) == ("default", ("b",))
    assert claim.budgets == ("b",)


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_whoever_lost_the_lease_is_told_so(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Nothing is charged on its behalf."""
    lost = await lose_lease(store, clock, how)
    await refused(store.leases.check(lost.id, lost.lease), lost.error, dump, **lost.context)
