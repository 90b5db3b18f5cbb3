"""hf_waitpoint_token."""

from __future__ import annotations

from holdfast.errors import SignalNotAllowed, WaitpointClosed, WaitpointNotFound
from holdfast.model.waitpoints import NewWaitpoint
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, create_one, refused
from tests.support.waits import (
    events_of,
    prepare_one,
    record_calls,
    run_one,
    send,
    suspend_one,
)


async def test_reading_a_token_is_written_down(store: Store, clock: Clock, dump: Dump) -> None:
    """Who read it, when, and of which waitpoint."""
    claim, (point,) = await suspend_one(store)
    await clock.advance(5)
    assert await store.waitpoints.token(claim.id, 1, "ann") == point
    *_, event = await store.queries.history(claim.id)
    assert (event.event, event.at) == ("token_read", clock.now)
    assert event.data == {"waitpoint": point.id, "reader": "ann"}
    assert violations(dump(), clock.now_ms) == []


async def test_the_token_of_a_prepared_one_can_be_read(store: Store) -> None:
    """While its execution runs."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    assert await store.waitpoints.token(claim.id, 1, "ann") == point
    assert (await events_of(store, claim.id))[-2:] == ["claimed", "token_read"]


async def test_a_repeated_call_is_written_down_once(store: Store, dump: Dump) -> None:
    """A lost reply is not a second reader; a second call is."""
    calls = record_calls(store)
    claim, _ = await suspend_one(store)
    await store.waitpoints.token(claim.id, 1, "ann")
    before = dump()
    await calls.again()
    assert dump() == before
    await store.waitpoints.token(claim.id, 1, "ann")
    assert (await events_of(store, claim.id)).count("token_read") == 2


async def test_a_closed_one_has_no_token(store: Store, clock: Clock, dump: Dump) -> None:
    """From the millisecond it is closed or expired, whether or not its timer has fired."""
    claim, (point,) = await suspend_one(store)
    await send(store, point)
    call = store.waitpoints.token(claim.id, 1, "ann")
    await refused(call, WaitpointClosed, dump, id=point.id, why="resumed")
    claim = await claim_one(store, claim.id)
    point = await prepare_one(store, claim, expires_ms=1_000)
    await clock.advance(999)
    await store.waitpoints.token(claim.id, 2, "ann")
    await clock.advance(1)
    call = store.waitpoints.token(claim.id, 2, "ann")
    await refused(call, WaitpointClosed, dump, id=point.id, why="expired")


async def test_unknown_waitpoints(store: Store, dump: Dump) -> None:
    """Of an unknown execution, of one without waitpoints, and beyond the last."""
    other = (await suspend_one(store))[0].id
    one = await create_one(store)
    for execution_id, number in (("nobody", 1), (one, 1), (other, 2)):
        call = store.waitpoints.token(execution_id, number, "ann")
        await refused(call, WaitpointNotFound, dump, id=f"{execution_id}~w{number}")


async def test_a_token_is_for_a_person_only_if_each_has_one(store: Store, dump: Dump) -> None:
    """The shared token has no person, and a waitpoint with personal tokens has no shared one."""
    own = NewWaitpoint(name="own", key="own", answerers=("ann", "bob"), personal=True)
    claim, (shared, personal) = await suspend_one(store, "gate", own)
    assert await store.waitpoints.token(claim.id, 2, "operator", "bob") == personal
    for point, person, accepted in (
        (shared, "ann", "the holder of its one token"),
        (personal, "", "ann, bob"),
        (personal, "eve", "ann, bob"),
    ):
        number = 1 if point is shared else 2
        call = store.waitpoints.token(claim.id, number, "operator", person)
        why = {"by": "from", "accepted": accepted, "got": person or "an unnamed source"}
        await refused(call, SignalNotAllowed, dump, id=point.id, **why)
