"""hf_execution_progress."""

from __future__ import annotations

import pytest

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    create_one,
    lose_lease,
    refused,
)


@pytest.mark.parametrize("pct", [0, 12.5, 100, 0.001])
async def test_progress_is_shown(store: Store, pct: float) -> None:
    """Percentage and message of the holder are described."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.progress(claim.id, claim.lease, pct, "page 3 of 24 — größer")
    found = await store.queries.describe(claim.id)
    assert (found.progress_pct, found.progress_message) == (pct, "page 3 of 24 — größer")


async def test_the_latest_progress_counts(store: Store) -> None:
    """An empty message takes the one before away."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.progress(claim.id, claim.lease, 10, "starting")
    await store.executions.progress(claim.id, claim.lease, 5, "")
    found = await store.queries.describe(claim.id)
    assert (found.progress_pct, found.progress_message) == (5, None)


async def test_repeated_progress_changes_nothing(store: Store, dump: Dump) -> None:
    """The same report twice is the same report."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.progress(claim.id, claim.lease, 10, "m")
    before = dump()
    await store.executions.progress(claim.id, claim.lease, 10, "m")
    assert dump() == before


async def test_progress_does_not_extend_the_lease(store: Store, clock: Clock) -> None:
    """Only a renewal does."""
    claim = await claim_one(store, await create_one(store), lease_ms=2_000)
    await clock.advance(1_000)
    await store.executions.progress(claim.id, claim.lease, 10, "m")
    assert (await store.queries.describe(claim.id)).lease_expires_at == claim.expires_at


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder_of_the_lease_reports(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever lost the lease is told so, and nothing changes."""
    lost = await lose_lease(store, clock, how)
    call = store.executions.progress(lost.id, lost.lease, 50, "m")
    await refused(call, lost.error, dump, **lost.context)
