"""Lives of executions for tests of the archive."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from holdfast.model.executions import Failure
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_one, create_one

WEEK_MS = 7 * 86_400_000


async def live(store: Store, clock: Clock, number: int = 0, **fields: Any) -> str:
    """Run an execution that uses everything an execution can own, to one of four ends."""
    defaults: dict[str, Any] = {
        "tenant": f"t{number % 3}",
        "input": b"i" * (50 + 50 * (number % 2)),
        "tags": {"order": "x" * 100, "n": str(number)},
        "priority": number,
        "retry": RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=0)),
        "idempotency_key": f"key {number}",
    }
    execution_id = await create_one(store, **{**defaults, **fields})
    claim = await claim_one(store, execution_id)
    await store.executions.checkpoint(execution_id, claim.lease, "s1", b"r" * 100)
    await store.executions.checkpoint(execution_id, claim.lease, "s2", b"{}")
    await store.executions.progress(execution_id, claim.lease, 50, "half")
    await store.executions.fail(execution_id, claim.lease, Failure(type="e", message="m"))
    claim = await claim_one(store, execution_id)
    end = number % 4
    if end == 0:
        await store.executions.complete(execution_id, claim.lease, b"o" * 100, "text/plain")
    elif end == 1:
        await store.executions.complete(execution_id, claim.lease, b"1")
    elif end == 2:
        await store.executions.cancel(execution_id, "enough")
    else:
        failure = Failure(type="bad", message="m", retryable=False)
        await store.executions.fail(execution_id, claim.lease, failure)
    return execution_id


async def picture(reader: Any, execution_id: str) -> dict[str, Any]:
    """Return everything that a reader says about an execution, as an engine does."""
    execution = asdict(await reader.describe(execution_id))
    execution.pop("forget_at")
    return {
        "execution": execution,
        "input": await reader.input(execution_id),
        "outcome": await reader.outcome(execution_id),
        "history": await reader.history(execution_id),
        "attempts": await reader.attempts(execution_id),
        "steps": await reader.steps(execution_id),
    }


async def end_retention(store: Store, clock: Clock) -> None:
    """Let the retention of everything that has ended pass."""
    await clock.advance_and_tick(WEEK_MS)
