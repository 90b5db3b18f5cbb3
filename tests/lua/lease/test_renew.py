"""hf_lease_renew."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound, HoldfastError, LeaseRevoked, NotActive, StaleLease
from holdfast.model.executions import Lease
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_in,
    claim_one,
    create_one,
    create_together,
    lose_lease,
    state_of,
)


async def test_a_renewed_lease_lasts_from_now(store: Store, clock: Clock) -> None:
    """The new expiry counts from the renewal, and the execution is not reclaimed before."""
    claim = await claim_one(store, await create_one(store), lease_ms=2_000)
    await clock.advance(1_500)
    until = from_ms(clock.now_ms + 3_000)
    assert await store.leases.renew([(claim.id, claim.lease)], 3_000) == [until]
    assert (await store.queries.describe(claim.id)).lease_expires_at == until
    await clock.advance_and_tick(2_999)
    assert await state_of(store, claim.id) is State.ACTIVE
    await clock.advance_and_tick(1)
    assert await state_of(store, claim.id) is State.WAITING


async def test_a_renewal_may_shorten_a_lease(store: Store, clock: Clock) -> None:
    """A worker that stops soon may say so."""
    claim = await claim_one(store, await create_one(store), lease_ms=60_000)
    await store.leases.renew([(claim.id, claim.lease)], 1_000)
    await clock.advance_and_tick(1_000)
    assert await state_of(store, claim.id) is State.WAITING


async def test_a_repeated_renewal_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """At the same instant nothing changes."""
    claim = await claim_one(store, await create_one(store))
    held = [(claim.id, claim.lease)]
    first = await store.leases.renew(held, 9_000)
    before = dump()
    assert await store.leases.renew(held, 9_000) == first
    assert dump() == before


async def test_each_lease_of_a_batch_gets_its_own_answer(store: Store, clock: Clock) -> None:
    """Lost ones are refused with their reason, the rest are extended, in order."""
    ids = await create_together(store, {}, {}, {}, {})
    claims = await claim_in(store, store.tag_of(ids[0]), limit=4, lease_ms=5_000)
    good, cancelled, revoked, good_too = claims
    await store.executions.cancel(cancelled.id, "")
    await store.leases.revoke(revoked.id, "")
    held = [
        (good.id, good.lease),
        (cancelled.id, cancelled.lease),
        ("nobody", good.lease),
        (revoked.id, revoked.lease),
        (good_too.id, Lease(good_too.lease.id, 9, 0)),
        (good_too.id, good_too.lease),
    ]
    until = from_ms(clock.now_ms + 8_000)
    answers = await store.leases.renew(held, 8_000)
    assert [answers[0], answers[5]] == [until, until]
    kinds = [type(answer) for answer in answers[1:5]]
    assert kinds == [NotActive, ExecutionNotFound, LeaseRevoked, StaleLease]
    assert isinstance(answers[1], HoldfastError)
    assert answers[1].context == {"id": cancelled.id, "state": "cancelled"}


async def test_a_large_batch_over_partitions_keeps_its_order(store: Store, clock: Clock) -> None:
    """More leases than fit in one call are renewed by several."""
    ids = await create_together(store, *[{} for _ in range(250)])
    claims = await claim_in(store, store.tag_of(ids[0]), limit=250)
    single = [await claim_one(store, await create_one(store)) for _ in range(5)]
    held = [(str(claim.id), claim.lease) for claim in [*claims, *single]]
    held.insert(100, ("nobody", held[0][1]))
    answers = await store.leases.renew(held, 8_000)
    wrong = [n for n, answer in enumerate(answers) if answer != from_ms(clock.now_ms + 8_000)]
    assert wrong == [100]


async def test_a_renewal_does_not_move_deadline_or_timeout(store: Store, clock: Clock) -> None:
    """A holder cannot outlive them by renewing."""
    execution_id = await create_one(store, deadline_ms=5_000)
    claim = await claim_one(store, execution_id)
    await store.leases.renew([(claim.id, claim.lease)], 60_000)
    await clock.advance_and_tick(5_000)
    assert await state_of(store, execution_id) is State.EXPIRED
    execution_id = await create_one(store, attempt_timeout_ms=5_000)
    claim = await claim_one(store, execution_id)
    await store.leases.renew([(claim.id, claim.lease)], 60_000)
    await clock.advance_and_tick(5_000)
    assert await state_of(store, execution_id) is State.FAILED


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_a_lost_lease_is_not_revived(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever lost the lease is told so, and nothing changes."""
    lost = await lose_lease(store, clock, how)
    before = dump()
    (answer,) = await store.leases.renew([(lost.id, lost.lease)], 60_000)
    assert type(answer) is lost.error
    assert answer.context == lost.context
    assert dump() == before
