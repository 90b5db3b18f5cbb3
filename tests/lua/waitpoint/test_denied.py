"""hf_waitpoint_denied, and how a question for more of a budget is answered."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.model.executions import Claim, Failure
from holdfast.model.states import State
from holdfast.model.waitpoints import Asks, Effect, NewWaitpoint, Waitpoint
from holdfast.store.outboxes import Raise, parse
from holdfast.store.store import Store
from tests.support.lifecycle import claim_one
from tests.support.waits import prepare_one, record_calls, run_one, send, suspend

ASKS = Asks(budget="b", dimension="tokens", limit=10, current=9, key="k", fence="f")
SCHEMA = {"type": ["object", "null"]}


async def ask(store: Store, claim: Claim) -> Waitpoint:
    """Have an execution ask for more."""
    question = NewWaitpoint(name="budget:b", asks=ASKS, schema=SCHEMA)
    answer = await suspend(store, claim, question)
    assert answer.state is State.SUSPENDED
    (point,) = answer.waitpoints
    return point


async def denied(store: Store, claim: Claim, limit: int = 10, dimension: str = "tokens") -> bool:
    asks = Asks(budget="b", dimension=dimension, limit=limit, current=0, key="", fence="")
    return await store.waitpoints.denied(claim.id, asks)


async def test_a_denial_holds_for_its_limit(store: Store) -> None:
    """Of this budget and dimension, and in later attempts."""
    claim = await run_one(store)
    assert not await denied(store, claim)
    point = await ask(store, claim)
    assert point.asks == ASKS
    assert not await denied(store, claim)
    await send(store, point, "deny", payload=b'{"limit": 50}')
    assert await denied(store, claim)
    assert not await denied(store, claim, limit=11)
    assert not await denied(store, claim, dimension="calls")
    assert await store.outboxes.read(store.tag_of(claim.id)) == []


async def test_the_last_answer_counts(store: Store) -> None:
    """Who was denied more and got it later was not denied it."""
    claim = await run_one(store)
    await send(store, await ask(store, claim), "deny")
    claim = await claim_one(store, claim.id)
    await send(store, await ask(store, claim), "yes")
    assert not await denied(store, claim)


async def test_a_replay_asks_again(store: Store) -> None:
    """It starts from nothing."""
    claim = await run_one(store)
    await send(store, await ask(store, claim), "deny")
    claim = await claim_one(store, claim.id)
    failure = Failure(type="x", message="m", retryable=False)
    await store.executions.fail(claim.id, claim.lease, failure)
    assert await denied(store, claim)
    await store.executions.replay(claim.id, keep_steps=False, from_step="", reason="")
    assert not await denied(store, claim)


async def test_a_limit_goes_to_the_outbox_once(store: Store) -> None:
    """With the signal that brings it; the same call again adds nothing."""
    caller = record_calls(store)
    claim = await run_one(store)
    point = await ask(store, claim)
    effect = await send(store, point, "yes", payload=b'{"limit": 50}')
    assert effect is Effect.RESUMED
    assert await caller.again() == [b"resumed", 1, 1]
    (entry,) = await store.outboxes.read(store.tag_of(claim.id))
    assert parse(entry) == Raise(point.id, "b", "tokens", "50")


async def test_a_prepared_waitpoint_of_that_name_is_another(store: Store) -> None:
    """Who made it does not answer the question."""
    claim = await run_one(store)
    made = await prepare_one(store, claim, "budget:b")
    await send(store, made, "yes", payload=b'{"limit": 50}')
    point = await ask(store, claim)
    assert point.id != made.id
    assert await store.outboxes.read(store.tag_of(claim.id)) == []


async def test_an_unknown_execution(store: Store) -> None:
    """Says so."""
    with pytest.raises(ExecutionNotFound):
        await store.waitpoints.denied("nobody", ASKS)
