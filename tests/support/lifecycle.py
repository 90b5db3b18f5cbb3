"""Short ways through the life of an execution, for tests."""

from __future__ import annotations

from typing import Any

from holdfast.model.executions import Claim, ExecutionId, NewExecution, Submitted
from holdfast.model.ids import new_id
from holdfast.store.store import Store


async def create_one(store: Store, **fields: Any) -> ExecutionId:
    """Create an execution of kind `work`, unless the fields say otherwise."""
    (answer,) = await store.executions.create([NewExecution(**{"kind": "work", **fields})])
    assert isinstance(answer, Submitted), answer
    return answer.id


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
    return await store.executions.claim(tag, **{**defaults, **options})


async def claim_one(store: Store, execution_id: str, **options: Any) -> Claim:
    """Claim in the partition of an execution and expect to get it."""
    (claim,) = await claim_in(store, store.tag_of(execution_id), **options)
    assert claim.id == execution_id
    return claim
