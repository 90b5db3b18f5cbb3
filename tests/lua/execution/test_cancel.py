"""hf_execution_cancel."""

from __future__ import annotations

from typing import Any

from holdfast.engine import Engine
from holdfast.errors import AlreadyTerminal, ExecutionNotFound
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import (
    Dump,
    claim_in,
    claim_one,
    complete_one,
    create_one,
    refused,
)
from tests.support.limits import claim_all, claim_one_limited, make_quota


async def cancel(store: Store, execution_id: str, request: str, reason: str = "why") -> list[Any]:
    tag = store.tag_of(execution_id)
    return await store.caller.write("hf_execution_cancel", tag, execution_id, request, reason)


async def test_a_waiting_execution_is_cancelled_and_never_handed_out(
    store: Store, clock: Clock
) -> None:
    """The state is terminal, the reason is kept, no worker gets it."""
    execution_id = await create_one(store)
    assert await cancel(store, execution_id, "r1", "enough") == [b"cancelled"]
    found = await store.queries.describe(execution_id)
    assert (found.state, found.reason) == (State.CANCELLED, "enough")
    assert found.completed_at == from_ms(clock.now_ms)
    assert await claim_in(store, store.tag_of(execution_id)) == []


async def test_a_delayed_execution_is_cancelled_and_does_not_wake(
    store: Store, clock: Clock
) -> None:
    """The due time of a cancelled execution means nothing."""
    execution_id = await create_one(store, delay_ms=5_000)
    await cancel(store, execution_id, "r1")
    await clock.advance_and_tick(5_000)
    found = await store.queries.describe(execution_id)
    assert (found.state, found.run_at, found.hold) == (State.CANCELLED, None, None)
    assert await claim_in(store, store.tag_of(execution_id)) == []


async def test_an_execution_in_backoff_is_cancelled(store: Store, clock: Clock) -> None:
    """Cancelling between two attempts ends the retries."""
    policy = RetryPolicy(max_attempts=5, backoff=Backoff(initial_ms=1_000))
    claim = await claim_one(store, await create_one(store, retry=policy))
    await store.executions.fail(claim.id, claim.lease, Failure(type="e", message="m"))
    await cancel(store, claim.id, "r1")
    await clock.advance_and_tick(1_000)
    assert (await store.queries.describe(claim.id)).state is State.CANCELLED


async def test_cancelling_ends_the_running_attempt(store: Store) -> None:
    """The attempt of the holder is closed with the execution."""
    claim = await claim_one(store, await create_one(store))
    await cancel(store, claim.id, "r1")
    (attempt,) = await store.queries.attempts(claim.id)
    assert attempt.outcome == "cancelled"


async def test_cancelling_ends_an_attempt_that_asked_to_go_on_later(store: Store) -> None:
    """An interrupted attempt is not left open by the end of its execution."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.delay(claim.id, claim.lease, 5_000)
    await cancel(store, claim.id, "r1")
    (attempt,) = await store.queries.attempts(claim.id)
    assert attempt.outcome == "cancelled"


async def test_a_repeated_cancel_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """The same request after a lost reply is no conflict and changes nothing."""
    execution_id = await create_one(store)
    await cancel(store, execution_id, "r1")
    before = dump()
    assert await cancel(store, execution_id, "r1") == [b"cancelled"]
    assert dump() == before


async def test_another_request_finds_a_cancelled_execution_terminal(
    store: Store, dump: Dump
) -> None:
    """Only the caller that cancelled it is told so."""
    execution_id = await create_one(store)
    await cancel(store, execution_id, "r1")
    call = cancel(store, execution_id, "r2")
    await refused(call, AlreadyTerminal, dump, id=execution_id, state="cancelled")


async def test_a_completed_execution_cannot_be_cancelled(store: Store, dump: Dump) -> None:
    """The refusal says how it ended."""
    execution_id = await complete_one(store)
    call = store.executions.cancel(execution_id, "too late")
    await refused(call, AlreadyTerminal, dump, id=execution_id, state="completed")


async def test_cancelling_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(store.executions.cancel("nobody", ""), ExecutionNotFound, dump, id="nobody")


async def test_its_place_in_the_line_of_a_quota_is_free(engine: Engine) -> None:
    """The slot goes to the next one."""
    store = engine.store
    await make_quota(store)
    claim = await claim_one_limited(engine, await create_one(store, quotas=("q",)))
    second = await create_one(store, quotas=("q",))
    assert await claim_all(engine) == []
    third = await create_one(store, quotas=("q",))
    assert await claim_all(engine) == []
    assert (await engine.quotas.get("q")).waiting == 2
    await engine.cancel(second)
    await engine.courier.settle()
    assert (await engine.quotas.get("q")).waiting == 1
    await engine.complete(claim.id, claim.lease)
    await engine.courier.settle()
    await engine.courier.carry_all()
    await claim_one_limited(engine, third)
