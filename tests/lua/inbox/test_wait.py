"""hf_inbox_wait."""

from __future__ import annotations

import pytest

from holdfast.model.moments import from_ms
from holdfast.model.states import Hold, State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.inboxes import send
from tests.support.invariants import violations
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    create_one,
    lose_lease,
    refused,
    state_of,
)


async def test_an_unread_signal_is_handed_out_at_once(store: Store) -> None:
    """The holder keeps its lease."""
    claim = await claim_one(store, await create_one(store))
    await send(store, claim.id, "a", payload=b"1")
    found = await store.inboxes.wait(claim.id, claim.lease, ["a"], None)
    assert found is not None
    assert found[1].value == 1
    assert await state_of(store, claim.id) is State.ACTIVE


async def test_without_one_the_lease_is_returned(store: Store, dump: Dump) -> None:
    """For any time; a repeated call says the same."""
    claim = await claim_one(store, await create_one(store, attempt_timeout_ms=5_000))
    assert await store.inboxes.wait(claim.id, claim.lease, [], None) is None
    found = await store.queries.describe(claim.id)
    assert (found.state, found.hold, found.run_at) == (State.DELAYED, Hold.SIGNAL, None)
    assert (found.attempt_open, found.lease_expires_at) == (True, None)
    assert violations(dump()) == []
    before = dump()
    assert await store.inboxes.wait(claim.id, claim.lease, [], None) is None
    assert dump() == before
    await send(store, claim.id, "anything")
    assert await state_of(store, claim.id) is State.WAITING


async def test_time_ends_the_wait(store: Store, clock: Clock, dump: Dump) -> None:
    """The same attempt continues without a signal; a deadline still counts."""
    claim = await claim_one(store, await create_one(store, deadline_ms=60_000))
    ends = clock.now_ms + 5_000
    assert await store.inboxes.wait(claim.id, claim.lease, ["a"], ends) is None
    assert (await store.queries.describe(claim.id)).run_at == from_ms(ends)
    await clock.advance_and_tick(5_000)
    again = await claim_one(store, claim.id)
    assert again.lease.attempt == 0
    assert await store.inboxes.wait(again.id, again.lease, ["a"], None) is None
    await clock.advance_and_tick(60_000)
    assert await state_of(store, claim.id) is State.EXPIRED
    assert violations(dump()) == []


@pytest.mark.parametrize("way", WAYS_TO_LOSE)
async def test_only_the_holder_waits(store: Store, clock: Clock, dump: Dump, way: str) -> None:
    """A former one is refused."""
    lost = await lose_lease(store, clock, way)
    call = store.inboxes.wait(lost.id, lost.lease, [], None)
    await refused(call, lost.error, dump, **lost.context)
