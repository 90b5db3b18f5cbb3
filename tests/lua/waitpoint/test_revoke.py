"""hf_waitpoint_revoke."""

from __future__ import annotations

from holdfast.errors import WaitpointClosed, WaitpointNotFound
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, WaitpointState
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, create_one, refused, state_of
from tests.support.waits import (
    point_of,
    prepare_one,
    record_calls,
    run_one,
    send,
    suspend,
    suspend_one,
    token_of,
)


async def test_its_token_is_worth_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """Nobody can answer it any more, and what waits goes on waiting."""
    claim, (point,) = await suspend_one(store)
    await clock.advance(7)
    assert await store.waitpoints.revoke(claim.id, 1) == "revoked"
    found = await point_of(store, point)
    assert (found.state, found.why) == (WaitpointState.CLOSED, "revoked")
    assert found.closed_at == from_ms(clock.now_ms)
    for sender in (None, token_of(point)):
        call = send(store, point, sender=sender)
        await refused(call, WaitpointClosed, dump, id=point.id, why="revoked")
    assert await state_of(store, claim.id) is State.SUSPENDED
    assert violations(dump(), clock.now_ms) == []


async def test_a_pending_one_takes_what_it_holds_with_it(store: Store, dump: Dump) -> None:
    """A wait of the same name begins without the signals of the revoked one."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    await send(store, point)
    await store.waitpoints.revoke(claim.id, 1)
    call = suspend(store, claim, point)
    await refused(call, WaitpointClosed, dump, id=point.id, why="revoked")
    answer = await suspend(store, claim, "gate")
    assert (answer.state, answer.waitpoints[0].id) == (State.SUSPENDED, f"{claim.id}~w2")
    assert violations(dump()) == []


async def test_the_others_of_its_wait_still_count(store: Store, clock: Clock, dump: Dump) -> None:
    """And what came to it before it was revoked."""
    both = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    claim, (a, b) = await suspend_one(store, "a", "b", condition=both)
    assert await send(store, a) is Effect.APPENDED
    await store.waitpoints.revoke(claim.id, 1)
    assert await send(store, b) is Effect.RESUMED
    assert (await point_of(store, a)).why == "revoked"
    assert len((await claim_one(store, claim.id)).signals) == 2
    assert violations(dump(), clock.now_ms) == []


async def test_its_timer_goes_with_it(store: Store, clock: Clock, dump: Dump) -> None:
    """Nothing fires when it would have expired."""
    claim = await run_one(store)
    await prepare_one(store, claim, expires_ms=1_000)
    await store.waitpoints.revoke(claim.id, 1)
    assert violations(dump(), clock.now_ms) == []
    assert await clock.advance_and_tick(1_000) == 0


async def test_a_repeated_revoke_changes_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """Neither does one of a waitpoint that is closed for another reason, which it tells."""
    calls = record_calls(store)
    claim, (point,) = await suspend_one(store)
    await send(store, point)
    before = dump()
    assert await store.waitpoints.revoke(claim.id, 1) == "resumed"
    assert dump() == before
    claim = await claim_one(store, claim.id)
    await prepare_one(store, claim, "other")
    assert await store.waitpoints.revoke(claim.id, 2) == "revoked"
    await clock.advance(5)
    before = dump()
    assert await calls.again() == [b"closed", b"revoked"]
    assert dump() == before


async def test_unknown_waitpoints(store: Store, dump: Dump) -> None:
    """Of an unknown execution, of one without waitpoints, and beyond the last."""
    other = (await suspend_one(store))[0].id
    one = await create_one(store)
    for execution_id, number in (("nobody", 1), (one, 1), (other, 2)):
        call = store.waitpoints.revoke(execution_id, number)
        await refused(call, WaitpointNotFound, dump, id=f"{execution_id}~w{number}")
