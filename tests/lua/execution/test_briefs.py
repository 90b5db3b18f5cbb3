"""Briefs: records of plain executions, one string until something else happens to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from holdfast.errors import ExecutionNotFound, StaleLease
from holdfast.model.calls import Completion
from holdfast.model.executions import Claim, Failure, NewExecution, Submitted
from holdfast.model.ids import new_id
from holdfast.model.retry import RetryPolicy
from holdfast.model.states import State
from holdfast.store import restrictions
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.briefs import record_of
from tests.support.invariants import violations
from tests.support.lifecycle import (
    Dump,
    again,
    claim_in,
    claim_one,
    complete_one,
    create_one,
    state_of,
)  # fmt: skip

SIZES = (1, 64, 65, 256, 257)


async def is_brief(store: Store, execution_id: str) -> bool:
    key = f"{store.tag_of(execution_id)}:x:{execution_id}"
    return bool(await store.client.call(["TYPE", key]) == b"string")


@pytest.mark.parametrize("size", SIZES)
async def test_a_plain_execution_is_a_brief_to_its_end(store: Store, dump: Dump, size: int) -> None:
    """Whatever the size and the bytes of its payloads, and its options are kept."""
    payload, retry = (b"\n\xc1" * size)[:size], RetryPolicy(max_attempts=7)
    execution_id = await create_one(
        store, input=payload, idempotency_key="k", retry=retry, max_replays=3
    )
    assert await is_brief(store, execution_id)
    claim = await claim_one(store, execution_id, worker="a-worker")
    assert (claim.input, claim.lease.epoch) == (payload, 1)
    await store.executions.complete(execution_id, claim.lease, payload)
    assert await is_brief(store, execution_id)
    assert violations(dump()) == []
    outcome = await store.executions.outcome(execution_id)
    assert outcome is not None
    assert outcome.result == payload
    assert await store.queries.input(execution_id) == payload
    found = await store.queries.describe(execution_id)
    assert (found.state, found.attempts) == (State.COMPLETED, 1)
    assert (await record_of(store, execution_id))[b"max_replays"] == b"3"
    (repeated,) = await store.executions.create(
        [NewExecution(kind="work", input=payload, idempotency_key="k", retry=retry, max_replays=3)]
    )
    assert isinstance(repeated, Submitted)
    assert repeated.id == execution_id
    await again(store, execution_id)
    assert not await is_brief(store, execution_id)
    claim = await claim_one(store, execution_id)
    assert (claim.input, claim.lease.epoch) == (payload, 2)
    assert violations(dump()) == []


async def _fail(store: Store, claim: Claim) -> None:
    await store.executions.fail(claim.id, claim.lease, Failure(type="Oops", message="no"))


CHANGES: dict[str, Callable[[Store, Claim], Awaitable[object]]] = {
    "renew": lambda store, claim: store.leases.renew([(claim.id, claim.lease)], 90_000),
    "fail": _fail,
    "watch": lambda store, claim: store.executions.watch(claim.id, "process"),
    "progress": lambda store, claim: store.executions.progress(claim.id, claim.lease, 0.5, ""),
    "continue": lambda store, claim: store.executions.continue_as(
        claim.id, claim.lease, b"y" * 100, 0
    ),
    "cancel": lambda store, claim: store.executions.cancel(claim.id, "why"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_any_other_change_unfolds_it(store: Store, dump: Dump, change: str) -> None:
    """To the hash with the same fields; nothing is lost."""
    payload = b"x" * 100
    claim = await claim_one(store, await create_one(store, input=payload, max_replays=4))
    before = await record_of(store, claim.id)
    assert before.pop(b"input") == payload
    await CHANGES[change](store, claim)
    assert not await is_brief(store, claim.id)
    after = await record_of(store, claim.id)
    same = {b"born", b"tenant", b"lane", b"kind", b"max_replays", b"attempts", b"worker"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    expected = b"y" * 100 if change == "continue" else payload
    assert await store.queries.input(claim.id) == expected
    assert violations(dump()) == []


async def test_steps_leave_it_a_brief(store: Store, dump: Dump) -> None:
    """It counts them, and a claim after a lost lease hands them out."""
    claim = await claim_one(store, await create_one(store))
    for name in ("a", "b"):
        await store.executions.checkpoint(claim.id, claim.lease, name, b"1")
    assert await store.executions.checkpoint(claim.id, claim.lease, "a", b"2") == b"1"
    assert await is_brief(store, claim.id)
    assert (await record_of(store, claim.id))[b"steps"] == b"2"
    await store.executions.complete(claim.id, claim.lease, b"3")
    assert await is_brief(store, claim.id)
    assert (await record_of(store, claim.id))[b"steps"] == b"2"
    assert violations(dump()) == []


async def test_a_lost_lease_is_claimed_again(store: Store, clock: Clock, dump: Dump) -> None:
    """The first holder is refused, also in the same call as others."""
    claim = await claim_one(store, await create_one(store), lease_ms=1_000)
    await clock.advance(seconds=2)
    with pytest.raises(StaleLease):
        await store.executions.complete(claim.id, claim.lease, b"1")
    await clock.tick()
    assert await state_of(store, claim.id) is State.WAITING
    second = await claim_one(store, claim.id)
    assert second.lease.epoch == 2
    await store.executions.complete(claim.id, second.lease, b"2")
    assert violations(dump()) == []


async def test_an_execution_twice_in_one_call(store: Store, dump: Dump) -> None:
    """The second item finds what the first has done."""
    item = NewExecution(kind="work", idempotency_key="k", input=b"1")
    first, second = await store.executions.create([item, item])
    assert isinstance(first, Submitted)
    assert isinstance(second, Submitted)
    assert (first.id, second.duplicate) == (second.id, True)
    claim = await claim_one(store, first.id)
    ends = [Completion(claim.id, claim.lease, result) for result in (b"1", b"2")]
    assert await store.executions.complete_many(ends) == [None, None]
    outcome = await store.executions.outcome(claim.id)
    assert outcome is not None
    assert outcome.result == b"1"
    assert violations(dump()) == []


async def test_a_child_in_the_call_of_its_parent(store: Store, dump: Dump) -> None:
    """It finds the parent, whose brief is written before."""
    made = await store.executions.create(
        [NewExecution(kind="work", id="p"), NewExecution(kind="work", id="p~0.1")]
    )
    assert all(isinstance(answer, Submitted) for answer in made)
    children = await store.client.call(["ZRANGE", f"{store.tag_of('p')}:o:p", "0", "-1"])
    assert children == [b"p~0.1"]
    assert violations(dump()) == []


async def test_another_tenant_cannot_end_it(store: Store, dump: Dump) -> None:
    """It looks missing, and stays as it is."""
    claim = await claim_one(store, await create_one(store, tenant="a"))
    before = dump()
    with restrictions.restricted("b", [claim.id]), pytest.raises(ExecutionNotFound):
        await store.executions.complete(claim.id, claim.lease, b"1")
    assert dump() == before
    with restrictions.restricted("a", [claim.id]):
        await store.executions.complete(claim.id, claim.lease, b"1")
    assert await is_brief(store, claim.id)


async def test_names_that_a_brief_cannot_hold(store: Store, dump: Dump) -> None:
    """A request or a worker with spaces gets a hash."""
    execution_id = await create_one(store, input=b"x" * 100)
    claim = await claim_one(store, execution_id, worker="two words\n", request="a b")
    assert claim.input == b"x" * 100
    assert not await is_brief(store, execution_id)
    (repeated,) = await claim_in(store, store.tag_of(execution_id), worker="w", request="a b")
    assert repeated.id == execution_id
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert violations(dump()) == []


async def test_both_forms_in_one_ready_set(store: Store, dump: Dump) -> None:
    """They are claimed in their order, and end in one call."""
    root = new_id()
    items = [
        NewExecution(kind="work", id=f"{root}~{n}", tags={"n": str(n)} if n % 2 else {})
        for n in range(6)
    ]
    await store.executions.create(items)
    claims = await claim_in(store, store.tag_of(root), limit=10)
    assert [claim.id for claim in claims] == [item.id for item in items]
    ends = (store.executions.complete(claim.id, claim.lease, b"1") for claim in claims)
    await asyncio.gather(*ends)
    assert [await is_brief(store, claim.id) for claim in claims] == [True, False] * 3
    assert violations(dump()) == []


async def test_it_is_removed_after_its_retention(store: Store, clock: Clock, dump: Dump) -> None:
    """Nothing of it is left."""
    execution_id = await complete_one(store, input=b"x" * 100)
    await clock.advance(minutes=2 * 24 * 60)
    await clock.tick()
    assert not [key for key in dump() if execution_id in key]
