"""hf_execution_steps."""

from __future__ import annotations

from holdfast.errors import ExecutionNotFound
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.lifecycle import Dump, claim_one, create_one, refused


async def test_an_execution_without_steps_has_an_empty_journal(store: Store) -> None:
    """Nothing recorded is no error."""
    assert await store.queries.steps(await create_one(store)) == []


async def test_steps_are_told_with_results_and_times(store: Store, clock: Clock) -> None:
    """In the order of recording, also after the end of the execution."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.checkpoint(claim.id, claim.lease, "b", b"1")
    await clock.advance(7)
    await store.executions.checkpoint(claim.id, claim.lease, "a", b"2")
    await store.executions.complete(claim.id, claim.lease, b"3")
    found = [(step.name, step.result, step.at) for step in await store.queries.steps(claim.id)]
    assert found == [("b", b"1", from_ms(START_MS)), ("a", b"2", from_ms(START_MS + 7))]


async def test_the_steps_of_an_unknown_execution_are_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(store.queries.steps("nobody"), ExecutionNotFound, dump, id="nobody")
