"""Short ways through the life of an execution, for tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from holdfast.engine.payloads import Payloads
from holdfast.errors import ExecutionNotFound, HoldfastError, LeaseRevoked, NotActive, StaleLease
from holdfast.model.executions import Claim, ExecutionId, Lease, NewExecution, Submitted
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.model.workers import Beat
from holdfast.store.grants import Wanted
from holdfast.store.store import Store
from holdfast.testing.clock import Clock

#: Reads every key of the store.
Dump = Callable[[], dict[str, object]]


async def create_one(store: Store, **fields: Any) -> ExecutionId:
    """Create an execution of kind `work`, unless the fields say otherwise."""
    (answer,) = await store.executions.create([NewExecution(**{"kind": "work", **fields})])
    assert isinstance(answer, Submitted), answer
    return answer.id


async def claim_ready(store: Store, tag: str, **wanted: Any) -> list[Claim]:
    """Claim executions without limits from one partition; the options are those of Wanted."""
    claims, _ = await store.executions.claim(tag, Wanted(**wanted))
    return claims


async def claim_in(store: Store, tag: str, **options: Any) -> list[Claim]:
    """Claim from one partition with a worker that serves lane `default`."""
    defaults: dict[str, Any] = {
        "request": new_id(),
        "worker": "w1",
        "lanes": ["default"],
        "capabilities": [],
        "limit": 1,
        "lease_ms": 30_000,
    }
    claims = await claim_ready(store, tag, **{**defaults, **options})
    return await Payloads(store).open_claims(claims)


async def claim_one(store: Store, execution_id: str, **options: Any) -> Claim:
    """Claim in the partition of an execution and expect to get it."""
    (claim,) = await claim_in(store, store.tag_of(execution_id), **options)
    assert claim.id == execution_id
    return claim


async def again(store: Store, execution_id: str) -> None:
    """Replay an execution, from the beginning."""
    await store.executions.replay(execution_id, keep_steps=False, from_step="", reason="")


async def create_together(store: Store, *items: Mapping[str, Any]) -> list[ExecutionId]:
    """Create executions in one partition, in this order, by one call."""
    root = new_id()
    made = [
        NewExecution(**{"kind": "work", "id": f"{root}~{n}", **fields})
        for n, fields in enumerate(items)
    ]
    answers = await store.executions.create(made)
    return [answer.id for answer in answers if isinstance(answer, Submitted)]


async def state_of(store: Store, execution_id: str) -> State:
    """Return the state of an execution."""
    return (await store.queries.describe(execution_id)).state


async def complete_one(store: Store, **fields: Any) -> ExecutionId:
    """Create an execution and run it to its end."""
    claim = await claim_one(store, await create_one(store, **fields))
    await store.executions.complete(claim.id, claim.lease, b"1")
    return claim.id


async def register_worker(
    store: Store, instance: str = "w1-a", **fields: Any
) -> tuple[bool, datetime, bool]:
    """Register a worker that lives for ten seconds, unless the fields say otherwise."""
    defaults: dict[str, Any] = {
        "worker": "w1",
        "lanes": ["default"],
        "capabilities": [],
        "slots": 4,
        "busy": 0,
        "ttl_ms": 10_000,
    }
    return await store.workers.register(Beat(instance=instance, **{**defaults, **fields}))


async def refused(
    call: Awaitable[object], error: type[HoldfastError], dump: Dump, **context: object
) -> None:
    """Expect a refusal with this context, and that it wrote nothing."""
    before = dump()
    with pytest.raises(error) as raised:
        await call
    assert type(raised.value) is error
    assert raised.value.context == context
    assert dump() == before


@dataclass(frozen=True, slots=True, kw_only=True)
class LostLease:
    """A lease that allows nothing any more, and the refusal its holder must get."""

    id: str
    lease: Lease
    error: type[HoldfastError]
    context: dict[str, object]


WAYS_TO_LOSE = (
    "unknown", "forged", "expired", "reclaimed", "superseded", "revoked", "cancelled", "completed",
    "past_deadline",
)  # fmt: skip

_REFUSALS: dict[str, tuple[type[HoldfastError], dict[str, object]]] = {
    "forged": (StaleLease, {"state": "active", "epoch": 1}),
    "expired": (StaleLease, {"state": "active", "epoch": 1}),
    "reclaimed": (StaleLease, {"state": "waiting", "epoch": 1}),
    "superseded": (StaleLease, {"state": "active", "epoch": 2}),
    "revoked": (LeaseRevoked, {"state": "waiting"}),
    "cancelled": (NotActive, {"state": "cancelled"}),
    "completed": (NotActive, {"state": "completed"}),
    "past_deadline": (NotActive, {"state": "expired"}),
}


async def lose_lease(store: Store, clock: Clock, how: str) -> LostLease:
    """Make a lease and lose it."""
    if how == "unknown":
        nobody, lease = "nobody", Lease("x", 1, 0)
        return LostLease(id=nobody, lease=lease, error=ExecutionNotFound, context={"id": nobody})
    deadline_ms = 1000 if how == "past_deadline" else None
    execution_id = await create_one(store, deadline_ms=deadline_ms)
    lease = (await claim_one(store, execution_id, lease_ms=1000)).lease
    if how == "forged":
        lease = Lease("forged", lease.epoch, lease.attempt)
    elif how == "expired":
        await clock.advance(1000)
    elif how in {"reclaimed", "superseded", "past_deadline"}:
        await clock.advance_and_tick(1000)
    elif how == "revoked":
        await store.leases.revoke(execution_id, "")
    elif how == "cancelled":
        await store.executions.cancel(execution_id, "")
    elif how == "completed":
        await store.executions.complete(execution_id, lease, b"1")
    if how == "superseded":
        await claim_one(store, execution_id)
    error, context = _REFUSALS[how]
    return LostLease(
        id=execution_id, lease=lease, error=error, context={"id": execution_id, **context}
    )
