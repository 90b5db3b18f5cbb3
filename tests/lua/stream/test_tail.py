"""hf_stream_tail, and who is told of frames."""

from __future__ import annotations

from holdfast.errors import ExecutionNotFound
from holdfast.model.executions import Failure
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, create_one, refused
from tests.support.mailbox import Mailbox
from tests.support.streaming import append, running


async def test_a_follower_is_told_of_every_batch(store: Store, mailbox: Mailbox) -> None:
    """Once for a batch, and nobody is told of what others follow."""
    claim, other = await running(store), await running(store)
    await store.streams.tail(claim.id, mailbox.process, 0, 10)
    await append(store, other, "x")
    await append(store, claim, "a", "b")
    await append(store, claim, "c", live=True)
    assert await mailbox.wait(2) == [f"frames {claim.id}"] * 2


async def test_a_follower_is_told_of_the_end(store: Store, mailbox: Mailbox) -> None:
    """By the same announcement as those who wait for the result."""
    claim = await running(store)
    await store.streams.tail(claim.id, mailbox.process, 0, 10)
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert await mailbox.wait() == [f"completed {claim.id}"]


async def test_a_follower_is_told_of_the_next_attempt(
    store: Store, clock: Clock, mailbox: Mailbox
) -> None:
    """When it is claimed, once something was streamed."""
    claim = await claim_one(store, await create_one(store), lease_ms=1_000)
    await append(store, claim, "a")
    await store.streams.tail(claim.id, mailbox.process, 1, 10)
    await clock.advance_and_tick(1_000)
    await claim_one(store, claim.id)
    assert await mailbox.wait() == [f"frames {claim.id}"]
    found = await store.streams.tail(claim.id, mailbox.process, 1, 10)
    assert [frame.type for frame in found.page.frames] == ["attempt"]


async def test_one_who_has_not_come_back_is_not_told(
    store: Store, clock: Clock, mailbox: Mailbox
) -> None:
    """A process that died is forgotten after a minute; one that asks again is not."""
    claim = await claim_one(store, await create_one(store), lease_ms=1_000_000)
    await store.streams.tail(claim.id, "dead", 0, 10)
    await store.streams.tail(claim.id, mailbox.process, 0, 10)
    await clock.advance(59_000)
    await store.streams.tail(claim.id, mailbox.process, 0, 10)
    await clock.advance(2_000)
    await append(store, claim, "a")
    assert await mailbox.wait() == [f"frames {claim.id}"]
    await clock.advance(60_000)
    await append(store, claim, "b")
    await store.executions.cancel(claim.id, "")
    assert await mailbox.wait(2) == [f"frames {claim.id}", f"cancelled {claim.id}"]


async def test_following_says_where_the_stream_stands(store: Store) -> None:
    """Frames, whether more follow, the tenant, the state, the last attempt and number."""
    execution_id = await create_one(store, tenant="acme")
    found = await store.streams.tail(execution_id, "p", 0, 10)
    assert (found.tenant, found.state, found.attempt, found.last) == ("acme", State.WAITING, 0, 0)
    claim = await claim_one(store, execution_id)
    await append(store, claim, *"abc")
    found = await store.streams.tail(execution_id, "p", 1, 1)
    assert [frame.text for frame in found.page.frames] == ["b"]
    assert (found.page.more, found.last, found.ended_at) == (True, 3, None)


async def test_an_ended_stream_says_how_it_ended(store: Store, clock: Clock, dump: Dump) -> None:
    """Time, error and reason; nobody is noted as following it."""
    claim = await running(store)
    await append(store, claim, "a")
    await store.executions.fail(claim.id, claim.lease, Failure(type="E", message="m"))
    before = dump()
    found = await store.streams.tail(claim.id, "p", 0, 10)
    assert (found.state, found.ended_at) == (State.FAILED, clock.now)
    assert found.error == {"type": "E", "message": "m"}
    assert dump() == before
    cancelled = await create_one(store)
    await store.executions.cancel(cancelled, "enough")
    assert (await store.streams.tail(cancelled, "p", 0, 10)).reason == "enough"


async def test_a_repeated_follow_changes_nothing(store: Store, dump: Dump) -> None:
    """A process follows once, however often it asks."""
    claim = await running(store)
    await store.streams.tail(claim.id, "p", 0, 10)
    before = dump()
    await store.streams.tail(claim.id, "p", 0, 10)
    assert dump() == before


async def test_an_unknown_execution_cannot_be_followed(store: Store, dump: Dump) -> None:
    """Nobody waits for what does not exist."""
    call = store.streams.tail("nobody", "p", 0, 1)
    await refused(call, ExecutionNotFound, dump, id="nobody")


async def test_followers_are_forgotten_with_the_last_of_them(store: Store, dump: Dump) -> None:
    """Nothing has to be written to the stream for that."""
    execution_id = await create_one(store)
    await store.streams.tail(execution_id, "reader", 0, 10)
    (tails,) = (key for key in dump() if f":tails:{execution_id}" in key)
    assert 0 < await store.client.call(["PTTL", tails]) <= 60_000
