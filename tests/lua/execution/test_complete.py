"""hf_execution_complete."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.errors import ExecutionNotFound, LeaseRevoked, NotActive, StaleLease
from holdfast.model.executions import Lease
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_one, create_one

Dump = Callable[[], dict[str, object]]


async def test_complete_ends_the_execution_with_its_result(store: Store) -> None:
    """The holder's result is stored and the state is terminal."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.complete(claim.id, claim.lease, b'{"n":1}')
    state, result, content_type, _ = await store.executions.watch(claim.id, "")
    assert (state, result, content_type) == (b"completed", b'{"n":1}', b"")


async def test_a_repeated_complete_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """After a lost reply the same holder may ask again; nothing changes."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.complete(claim.id, claim.lease, b"1")
    before = dump()
    await store.executions.complete(claim.id, claim.lease, b"2")
    assert dump() == before


async def test_an_expired_lease_cannot_complete(store: Store, clock: Clock, dump: Dump) -> None:
    """Authority ends with the lease, even before anybody noticed."""
    claim = await claim_one(store, await create_one(store), lease_ms=1000)
    await clock.advance(1000)
    before = dump()
    with pytest.raises(StaleLease) as refused:
        await store.executions.complete(claim.id, claim.lease, b"1")
    assert refused.value.context["id"] == claim.id
    assert dump() == before


async def test_a_superseded_lease_cannot_complete(store: Store, clock: Clock, dump: Dump) -> None:
    """A holder of an older epoch changes nothing."""
    old = await claim_one(store, await create_one(store), lease_ms=1000)
    await clock.advance_and_tick(1000)
    new = await claim_one(store, old.id)
    assert new.lease.epoch > old.lease.epoch
    before = dump()
    with pytest.raises(StaleLease):
        await store.executions.complete(old.id, old.lease, b"1")
    assert dump() == before


async def test_a_revoked_lease_cannot_complete(store: Store) -> None:
    """Revocation has its own code."""
    claim = await claim_one(store, await create_one(store))
    await store.leases.revoke(claim.id, "operator")
    with pytest.raises(LeaseRevoked):
        await store.executions.complete(claim.id, claim.lease, b"1")


async def test_a_cancelled_execution_cannot_complete(store: Store) -> None:
    """The holder learns what became of its execution."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.cancel(claim.id, "enough")
    with pytest.raises(NotActive) as refused:
        await store.executions.complete(claim.id, claim.lease, b"1")
    assert refused.value.context["state"] == State.CANCELLED


async def test_completing_an_unknown_execution_is_not_found(store: Store) -> None:
    """A wrong id has its own code."""
    with pytest.raises(ExecutionNotFound):
        await store.executions.complete("nobody", Lease("x", 1, 0), b"1")
