"""hf_waitpoint_prepare."""

from __future__ import annotations

import pytest

from holdfast.errors import TooManyWaitpoints, WaitpointClosed, WaitpointExists
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, NewWaitpoint, WaitpointState
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.briefs import plant
from tests.support.invariants import violations
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    lose_lease,
    refused,
    state_of,
)
from tests.support.waits import point_of, prepare, prepare_one, record_calls, run_one, send, suspend


async def test_a_waitpoint_is_there_before_the_wait(store: Store, clock: Clock, dump: Dump) -> None:
    """The outside can be told first; the execution goes on running."""
    claim = await run_one(store)
    item = NewWaitpoint(
        name="gate",
        signals=("go", "stop*"),
        answerers=("ann", "bob"),
        uses=2,
        expires_ms=5_000,
        title="May it go?",
        schema={"type": "object"},
        key="k",
    )
    (point,) = await prepare(store, claim, item)
    assert point.id == f"{claim.id}~w1"
    assert (point.state, point.created_at) == (WaitpointState.PENDING, from_ms(clock.now_ms))
    assert (point.signals, point.answerers) == (("go", "stop*"), ("ann", "bob"))
    assert (point.uses, point.used, point.title) == (2, 0, "May it go?")
    assert (point.schema, point.expires_at) == ({"type": "object"}, from_ms(clock.now_ms + 5_000))
    assert (point.closed_at, point.why, point.token) == (None, None, None)
    assert await point_of(store, point) == point
    assert await state_of(store, claim.id) is State.ACTIVE
    assert violations(dump(), clock.now_ms) == []


async def test_several_are_numbered_in_order(store: Store, dump: Dump) -> None:
    """Across calls, too."""
    claim = await run_one(store)
    first = await prepare(store, claim, "a", "b")
    second = await prepare(store, claim, "c")
    assert [point.id for point in first + second] == [f"{claim.id}~w{n}" for n in (1, 2, 3)]
    assert violations(dump()) == []


async def test_a_repeated_prepare_returns_the_same(store: Store, clock: Clock, dump: Dump) -> None:
    """After a lost reply, and later: the same waitpoints, and nothing is written."""
    calls = record_calls(store)
    claim = await run_one(store)
    points = await prepare(store, claim, "a", "b")
    await clock.advance(10)
    before = dump()
    again = await calls.again()
    assert [number for number, _ in again] == [1, 2]
    assert await prepare(store, claim, "b") == points[1:]
    assert dump() == before


async def test_a_prepare_that_comes_again_asks_nobody_a_second_time(
    store: Store, dump: Dump
) -> None:
    """The waitpoint was answered and used meanwhile, by a holder that has kept its lease."""
    calls = record_calls(store)
    claim = await run_one(store)
    point = await prepare_one(store, claim, on_open="https://example.com")
    preparing = calls.calls[-1]
    assert await send(store, point) is Effect.BUFFERED
    assert (await suspend(store, claim, point)).state is State.ACTIVE
    before = dump()
    ((number, _),) = await store.caller.write(*preparing)
    assert number == 1
    assert dump() == before


async def test_known_and_new_ones_in_one_call(store: Store, dump: Dump) -> None:
    """What is there is returned, the rest is made."""
    claim = await run_one(store)
    (known,) = await prepare(store, claim, "a")
    found, new = await prepare(store, claim, "a", "b")
    assert (found, new.id) == (known, f"{claim.id}~w2")
    assert violations(dump()) == []


async def test_a_new_attempt_finds_what_the_crashed_one_prepared(
    store: Store, clock: Clock
) -> None:
    """And the signal that came in between."""
    first = await run_one(store)
    (point,) = await prepare(store, first, "gate")
    assert await send(store, point) is Effect.BUFFERED
    await clock.advance_and_tick(30_000)
    second = await claim_one(store, first.id)
    assert second.lease.attempt == 1
    (again,) = await prepare(store, second, "gate")
    assert again.id == point.id
    answer = await suspend(store, second, again)
    assert (answer.state, [one.name for one in answer.signals]) == (State.ACTIVE, ["go"])


async def test_a_name_lives_once(store: Store, dump: Dump) -> None:
    """Two living waitpoints of one name could not be told apart by a condition."""
    claim = await run_one(store)
    await prepare_one(store, claim, key="k1")
    call = prepare_one(store, claim, key="k2")
    await refused(call, WaitpointExists, dump, id=claim.id, name="gate")


async def test_all_are_checked_before_one_is_made(store: Store, dump: Dump) -> None:
    """A refusal leaves no half of a call behind."""
    claim = await run_one(store)
    await prepare_one(store, claim, key="k1")
    call = prepare(store, claim, "fresh", NewWaitpoint(name="gate", key="k2"))
    await refused(call, WaitpointExists, dump, id=claim.id, name="gate")


async def test_a_closed_name_is_free_again(store: Store) -> None:
    """A name can be waited for again and again."""
    claim = await run_one(store)
    first = await prepare_one(store, claim, key="k1")
    await store.waitpoints.revoke(claim.id, 1)
    second = await prepare_one(store, claim, key="k2")
    assert (first.id, second.id) == (f"{claim.id}~w1", f"{claim.id}~w2")


async def test_a_name_is_free_from_the_millisecond_its_waitpoint_expires(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Whether or not the timer has fired yet."""
    claim = await run_one(store)
    await prepare_one(store, claim, key="k1", expires_ms=1_000)
    await clock.advance(999)
    call = prepare_one(store, claim, key="k2")
    await refused(call, WaitpointExists, dump, id=claim.id, name="gate")
    await clock.advance(1)
    second = await prepare_one(store, claim, key="k2")
    assert second.id == f"{claim.id}~w2"
    await clock.tick()
    assert (await point_of(store, second)).state is WaitpointState.PENDING
    assert violations(dump(), clock.now_ms) == []


async def test_an_expired_waitpoint_is_not_handed_out_again(store: Store, clock: Clock) -> None:
    """Prepared again under its key, it would have a token that nobody can use."""
    claim = await run_one(store)
    await prepare_one(store, claim, key="k", expires_ms=1_000)
    await clock.advance(1_000)
    second = await prepare_one(store, claim, key="k", expires_ms=1_000)
    assert second.id == f"{claim.id}~w2"
    assert await send(store, second) is Effect.BUFFERED


async def test_it_expires_at_its_millisecond(store: Store, clock: Clock, dump: Dump) -> None:
    """And is out of the inbox then."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, expires_ms=1_000)
    await clock.advance_and_tick(999)
    assert (await point_of(store, point)).state is WaitpointState.PENDING
    await clock.advance_and_tick(1)
    found = await point_of(store, point)
    assert (found.state, found.why) == (WaitpointState.CLOSED, "expired")
    assert found.closed_at == from_ms(clock.now_ms)
    await refused(send(store, point), WaitpointClosed, dump, id=point.id, why="expired")
    assert violations(dump(), clock.now_ms) == []


async def test_there_is_a_most(store: Store, dump: Dump) -> None:
    """The last one that fits can be made, and its call repeated; one more cannot."""
    claim = await run_one(store)
    await plant(store, claim.id, "waitpoints", "9999")
    last = await prepare_one(store, claim, "last")
    assert last.id == f"{claim.id}~w10000"
    call = prepare_one(store, claim, "more")
    await refused(call, TooManyWaitpoints, dump, id=claim.id, limit=10_000)
    assert (await prepare_one(store, claim, "last")).id == last.id


async def test_the_list_of_living_ones_is_read_once(single_store: Store) -> None:
    """A list of many is long: reading it for each of them would take the square of their number."""

    async def reads() -> int:
        text = (await single_store.client.call(["INFO", "commandstats"])).decode()
        (line,) = (line for line in text.splitlines() if line.startswith("cmdstat_hget:"))
        return int(line.split("calls=")[1].split(",")[0])

    claim = await run_one(single_store)
    start = await reads()
    points = await prepare(single_store, claim, *(f"p{number}" for number in range(100)))
    made = await reads()
    assert made - start < 1.5 * len(points)
    await single_store.executions.cancel(claim.id, "r1")
    assert await reads() - made < 1.5 * len(points)
    assert (await point_of(single_store, points[-1])).why == "ended"


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder_of_the_lease_prepares(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever lost the lease is told so, and nothing changes."""
    lost = await lose_lease(store, clock, how)
    call = store.waitpoints.prepare(lost.id, lost.lease.fence, [NewWaitpoint(name="a", key="k")])
    await refused(call, lost.error, dump, **lost.context)
