"""hf_execution_prioritize."""

from __future__ import annotations

from holdfast.errors import AlreadyTerminal, ExecutionNotFound
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
    create_together,
    refused,
)


async def order(store: Store, tag: str) -> list[str]:
    return [claim.id for claim in await claim_in(store, tag, limit=10)]


async def test_a_waiting_execution_moves_at_once(store: Store) -> None:
    """Up and down; the answer is the priority before."""
    a, b, c = await create_together(store, {}, {"priority": 4}, {})
    assert await store.executions.prioritize(c, 9) == 0
    assert await store.executions.prioritize(b, -2) == 4
    assert await order(store, store.tag_of(a)) == [c, a, b]
    assert (await store.queries.describe(b)).priority == -2


async def test_going_back_restores_the_place(store: Store) -> None:
    """Two changes that cancel out change nothing in the order."""
    a, b, c = await create_together(store, {}, {}, {})
    await store.executions.prioritize(b, 7)
    assert await store.executions.prioritize(b, 0) == 7
    assert await order(store, store.tag_of(a)) == [a, b, c]


async def test_a_delayed_execution_has_its_new_priority_when_due(
    store: Store, clock: Clock
) -> None:
    """It does not become ready by the change."""
    first, late = await create_together(store, {}, {"delay_ms": 1_000})
    await store.executions.prioritize(late, 5)
    assert (await store.queries.describe(late)).state is State.DELAYED
    await clock.advance_and_tick(1_000)
    assert await order(store, store.tag_of(first)) == [late, first]


async def test_an_active_execution_has_its_new_priority_when_it_comes_back(
    store: Store, clock: Clock
) -> None:
    """The running attempt is not disturbed."""
    old, young = await create_together(store, {}, {})
    tag = store.tag_of(old)
    claims = await claim_in(store, tag, limit=2, lease_ms=1_000)
    assert await store.executions.prioritize(young, 3) == 0
    assert (await store.leases.renew([(young, claims[1].lease)], 1_000))[0] == claims[1].expires_at
    await clock.advance_and_tick(1_000)
    assert await order(store, tag) == [young, old]


async def test_a_repeated_change_changes_nothing(store: Store, dump: Dump) -> None:
    """The same priority again is told as the one before and leaves no trace."""
    execution_id = await create_one(store)
    await store.executions.prioritize(execution_id, 5)
    before = dump()
    assert await store.executions.prioritize(execution_id, 5) == 5
    assert dump() == before


async def test_a_change_is_in_the_history(store: Store) -> None:
    """From what, to what."""
    execution_id = await create_one(store)
    await store.executions.prioritize(execution_id, 5)
    event = (await store.queries.history(execution_id))[-1]
    assert (event.event, event.data) == ("prioritized", {"from": 0, "to": 5})


async def test_the_retry_of_a_prioritized_execution_goes_first(store: Store, clock: Clock) -> None:
    """The priority stays with the execution over its attempts."""
    policy = RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=0))
    old, young = await create_together(store, {}, {"retry": policy, "attempt_timeout_ms": 500})
    await store.executions.prioritize(young, 1)
    await claim_one(store, young)
    await clock.advance_and_tick(500)
    assert await order(store, store.tag_of(old)) == [young, old]


async def test_a_terminal_execution_has_no_priority_to_change(store: Store, dump: Dump) -> None:
    """The refusal says how it ended."""
    execution_id = await complete_one(store)
    call = store.executions.prioritize(execution_id, 5)
    await refused(call, AlreadyTerminal, dump, id=execution_id, state="completed")


async def test_prioritizing_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(store.executions.prioritize("nobody", 5), ExecutionNotFound, dump, id="nobody")
