"""Children are kept until their parent has ended: a later attempt of it looks for them."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound, GraphNotFound
from holdfast.model.executions import Claim
from holdfast.model.graphs import NewGraph, Shape
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import members
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_in, claim_one, create_one, state_of

HOUR_MS = 3_600_000


async def family(store: Store) -> Claim:
    """Return a parent that runs for a week, whose child and graph have ended."""
    await create_one(store, id="p")
    parent = await claim_one(store, "p", lease_ms=604_800_000)
    await create_one(store, id="p~0.1", retention_ms=0)
    shape = Shape(members=members("ab"), edges=(), joins={})
    await store.graphs.create(NewGraph(shape=shape, id="p~0.g1", retention_ms=2 * HOUR_MS))
    for claim in await claim_in(store, store.tag_of("p"), limit=10):
        await store.executions.complete(claim.id, claim.lease, b"1")
    return parent


async def is_gone(store: Store) -> tuple[bool, bool]:
    """Return whether the child, and the graph, are removed."""
    child = graph = False
    try:
        await state_of(store, "p~0.1")
    except ExecutionNotFound:
        child = True
    try:
        await store.graphs.describe("p~0.g1")
    except GraphNotFound:
        graph = True
    return child, graph


async def test_they_are_kept_until_their_parent_has_ended(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Whatever their retention; afterwards they go within that, or within an hour."""
    parent = await family(store)
    for _ in range(30):
        await clock.advance_and_tick(HOUR_MS)
        assert await is_gone(store) == (False, False)
        assert violations(dump(), clock.now_ms) == []
    await store.executions.complete("p", parent.lease, b"1")
    await clock.advance_and_tick(HOUR_MS)
    assert (await is_gone(store))[0]
    await clock.advance_and_tick(HOUR_MS)
    assert await is_gone(store) == (True, True)
    assert violations(dump(), clock.now_ms) == []


@pytest.mark.parametrize("retention_ms", [0, 2 * HOUR_MS])
async def test_the_store_looks_again_after_an_hour_or_a_longer_retention(
    store: Store, clock: Clock, retention_ms: int
) -> None:
    """A description says when a child is removed at the earliest."""
    await create_one(store, id="p")
    await claim_one(store, "p", lease_ms=604_800_000)
    await create_one(store, id="p~0.1", retention_ms=retention_ms)
    claim = await claim_one(store, "p~0.1")
    await store.executions.complete("p~0.1", claim.lease, b"1")
    await clock.advance_and_tick(retention_ms)
    child = await store.queries.describe("p~0.1")
    assert child.forget_at == from_ms(clock.now_ms + max(retention_ms, HOUR_MS))


@pytest.mark.parametrize("way", ["continues", "is replayed"])
async def test_a_parent_that_starts_again_has_other_children(
    store: Store, clock: Clock, way: str
) -> None:
    """Nothing looks for the earlier ones."""
    parent = await family(store)
    if way == "continues":
        await store.executions.continue_as("p", parent.lease, b"1", 0)
    else:
        await store.executions.complete("p", parent.lease, b"1")
        await store.executions.replay("p", keep_steps=True, from_step="", reason="")
    await clock.advance_and_tick(2 * HOUR_MS)
    assert await is_gone(store) == (True, True)


async def test_each_start_of_a_parent_keeps_its_own_children(store: Store, clock: Clock) -> None:
    """Each start has 100,000 numbers: the last one of the start before is removed."""
    await create_one(store, id="p")
    parent = await claim_one(store, "p", lease_ms=604_800_000)
    await store.executions.continue_as("p", parent.lease, b"1", 0)
    earlier, later = "p~0.100000", "p~0.100001"
    for child in (earlier, later):
        await create_one(store, id=child, retention_ms=0)
        claim = await claim_one(store, child)
        await store.executions.complete(child, claim.lease, b"1")
    await clock.advance_and_tick(HOUR_MS)
    with pytest.raises(ExecutionNotFound):
        await state_of(store, earlier)
    assert await state_of(store, later) is State.COMPLETED
