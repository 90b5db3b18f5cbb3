"""hf_execution_continue."""

from __future__ import annotations

import pytest

from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import submit
from tests.support.invariants import violations
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    create_one,
    lose_lease,
    refused,
    state_of,
)
from tests.support.limits import grant_one, make_quota
from tests.support.sessions import begin, deliver, park, session, session_of, texts_of, turn
from tests.support.waits import prepare_one, record_calls, send, suspend


@pytest.mark.parametrize("size", [1, 1_000])
async def test_it_starts_again_under_the_same_lease(
    store: Store, clock: Clock, dump: Dump, size: int
) -> None:
    """With another input and no steps; the next attempt gets these."""
    claim = await claim_one(store, await create_one(store, input=b"x" * size))
    await store.executions.checkpoint(claim.id, claim.lease, "s1", b"1")
    await store.executions.progress(claim.id, claim.lease, 10, "a message")
    await store.executions.continue_as(claim.id, claim.lease, b"y" * size, 0)
    assert await state_of(store, claim.id) is State.ACTIVE
    assert await store.queries.steps(claim.id) == []
    assert violations(dump(), clock.now_ms) == []
    await store.executions.checkpoint(claim.id, claim.lease, "s1", b"2")
    await clock.advance_and_tick(30_000)
    again = await claim_one(store, claim.id)
    assert (again.input, again.steps, again.continued) == (b"y" * size, {"s1": b"2"}, 1)
    assert violations(dump(), clock.now_ms) == []


async def test_the_same_call_again_does_nothing(store: Store, dump: Dump) -> None:
    """It was lost; what was done since stays."""
    calls = record_calls(store)
    claim = await claim_one(store, await create_one(store))
    await store.executions.continue_as(claim.id, claim.lease, b"1", 0)
    continuing = len(calls.calls) - 1
    await store.executions.checkpoint(claim.id, claim.lease, "s1", b"1")
    before = dump()
    assert await calls.again(continuing) == [1]
    assert dump() == before
    await store.executions.continue_as(claim.id, claim.lease, b"2", 1)
    assert await calls.again(continuing) == [2]
    assert (await store.queries.describe(claim.id)).state is State.ACTIVE


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder(store: Store, clock: Clock, dump: Dump, how: str) -> None:
    """Whoever lost the lease changes nothing."""
    lost = await lose_lease(store, clock, how)
    call = store.executions.continue_as(lost.id, lost.lease, b"1", 0)
    await refused(call, lost.error, dump, **lost.context)


async def test_waitpoints_stay(store: Store, clock: Clock, dump: Dump) -> None:
    """A signal that was sent before is there after."""
    claim = await claim_one(store, await create_one(store))
    point = await prepare_one(store, claim)
    await send(store, point)
    await store.executions.continue_as(claim.id, claim.lease, b"1", 0)
    answer = await suspend(store, claim, point)
    assert [signal.name for signal in answer.signals] == ["go"]
    assert violations(dump(), clock.now_ms) == []


async def test_a_session_goes_on(store: Store, clock: Clock, dump: Dump) -> None:
    """Its messages and its transcript stay; the names of steps are free again."""
    claim = await begin(store)
    await deliver(store, "two")
    await turn(store, claim, "one")
    await store.executions.continue_as(claim.id, claim.lease, b'{"state":1}', 0)
    assert (await session(store, session_of(claim))).buffered == 1
    turned = await turn(store, claim, "one", wait="receive:1")
    assert (turned.numbers, texts_of(turned.received)) == ((4,), ["two"])
    assert violations(dump(), clock.now_ms) == []


async def test_a_kept_coroutine_starts_again(store: Store, clock: Clock, dump: Dump) -> None:
    """What the next claim hands out is of the new journal."""
    first = await park(store, "one", kept=True)
    await deliver(store, "two")
    claim = await claim_one(store, first.id)
    assert claim.kept
    await store.executions.continue_as(claim.id, claim.lease, b'{"state":1}', 0)
    assert violations(dump(), clock.now_ms) == []
    await turn(store, claim, "again", wait="receive:1", kept=True)
    await deliver(store, "three")
    again = await claim_one(store, first.id)
    assert (again.kept, set(again.steps), again.continued) == (True, {"receive:1"}, 1)
    assert texts_of(again.steps["receive:1"]) == ["three"]


async def test_a_worker_keeps_a_coroutine_with_limits(store: Store) -> None:
    """The grant between its two leases has an epoch of its own, which does not count."""
    await make_quota(store)
    delivered = await deliver(store, "one", quotas=("q",))
    claims = []
    for _ in range(2):
        asked, grant = await grant_one(store, delivered.execution or "")
        admitted = [(grant, None)]
        claims += await store.executions.activate(store.tag_of(delivered.session), asked, admitted)
        await turn(store, claims[-1], "one", wait="receive:1", kept=True)
        await deliver(store, "two", quotas=("q",))
    assert [claim.kept for claim in claims] == [False, True]
    assert set(claims[-1].steps) == {"receive:1"}


async def test_a_member_of_a_graph_gets_its_upstreams_results_no_more(
    store: Store, clock: Clock
) -> None:
    """Its new input is complete: what it was given first must not come back in a later attempt."""
    run = await submit(store, "a b", "a>b:x")
    await run.complete("a", result=b"1")
    claim = (await run.claim())["b"]
    assert claim.input == b'{"x":1}'
    await store.executions.continue_as(claim.id, claim.lease, b'{"x":2}', 0)
    await clock.advance_and_tick(30_000)
    again = await claim_one(store, claim.id)
    assert (again.input, again.continued) == (b'{"x":2}', 1)
