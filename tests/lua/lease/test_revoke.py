"""hf_lease_revoke."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import ExecutionNotFound, LeaseRevoked, NotActive, StaleLease
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, State
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, claim_one, complete_one, create_one, refused


async def revoke(store: Store, execution_id: str, request: str = "r1") -> list[Any]:
    tag = store.tag_of(execution_id)
    return await store.caller.write("hf_lease_revoke", tag, execution_id, request, "operator")


async def test_a_revoked_execution_is_ready_as_a_new_attempt(store: Store) -> None:
    """The next worker gets it at once, with a higher epoch and the steps so far."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.checkpoint(claim.id, claim.lease, "s", b"1")
    assert await revoke(store, claim.id) == [b"waiting"]
    found = await store.queries.describe(claim.id)
    assert (found.state, found.lease_expires_at, found.worker) == (State.WAITING, None, None)
    again = await claim_one(store, claim.id)
    assert (again.lease.epoch, again.lease.attempt) == (2, 1)
    assert again.attempt_kind is AttemptKind.RECLAIM
    assert again.steps == {"s": b"1"}


async def test_the_attempt_of_a_revoked_lease_has_ended(store: Store) -> None:
    """The history says who took it away and why."""
    claim = await claim_one(store, await create_one(store), worker="w7")
    await revoke(store, claim.id)
    event = (await store.queries.history(claim.id))[-1]
    assert (event.event, event.data) == (
        "lease_revoked",
        {"attempt": 0, "worker": "w7", "reason": "operator"},
    )
    (attempt,) = await store.queries.attempts(claim.id)
    assert attempt.outcome == "lease_revoked"


async def test_revoking_uses_up_neither_retry_nor_reclaim(store: Store) -> None:
    """It is the operator's doing, not the task's."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    claim = await claim_one(store, await create_one(store, retry=policy, max_reclaims=0))
    await revoke(store, claim.id)
    found = await store.queries.describe(claim.id)
    assert (found.state, found.failures, found.reclaims) == (State.WAITING, 0, 0)


async def test_a_repeated_revocation_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """After a lost reply it does not take the lease from the next holder."""
    claim = await claim_one(store, await create_one(store))
    await revoke(store, claim.id)
    before = dump()
    assert await revoke(store, claim.id) == [b"waiting"]
    assert dump() == before
    again = await claim_one(store, claim.id)
    before = dump()
    assert await revoke(store, claim.id) == [b"waiting"]
    assert dump() == before
    await store.executions.complete(claim.id, again.lease, b"1")


async def test_a_revoked_holder_learns_it_until_the_next_revocation(
    store: Store, dump: Dump
) -> None:
    """Also while another holder runs; after a second revocation the first is just stale."""
    first = await claim_one(store, await create_one(store))
    await revoke(store, first.id, "r1")
    second = await claim_one(store, first.id)
    call = store.executions.complete(first.id, first.lease, b"1")
    await refused(call, LeaseRevoked, dump, id=first.id, state="active")
    await revoke(store, first.id, "r2")
    call = store.executions.complete(first.id, second.lease, b"1")
    await refused(call, LeaseRevoked, dump, id=first.id, state="waiting")
    call = store.executions.complete(first.id, first.lease, b"1")
    await refused(call, StaleLease, dump, id=first.id, state="waiting", epoch=2)


@pytest.mark.parametrize("state", ["waiting", "delayed", "completed"])
async def test_only_an_active_execution_has_a_lease(store: Store, dump: Dump, state: str) -> None:
    """The refusal says what it is doing."""
    if state == "completed":
        execution_id = await complete_one(store)
    else:
        execution_id = await create_one(store, delay_ms=9_000 if state == "delayed" else None)
    await refused(revoke(store, execution_id), NotActive, dump, id=execution_id, state=state)


async def test_revoking_on_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(store.leases.revoke("nobody", ""), ExecutionNotFound, dump, id="nobody")
