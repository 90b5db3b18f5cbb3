"""hf_revision_needs."""

from __future__ import annotations

from holdfast.model.moments import from_ms
from holdfast.model.revisions import Needs
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.lua.revision.test_close import begin
from tests.support import sessions
from tests.support.lifecycle import claim_one, create_one


async def test_waits_and_runs_are_counted_as_they_change(store: Store, clock: Clock) -> None:
    """With the oldest wait, over all partitions."""
    waiting = [await begin(store, user=user) for user in ("ann", "bob", "cat")]
    assert (await store.needs.count("default", ["blue"]))["blue"] == Needs(running=3)
    begun = clock.now_ms
    for claim in waiting[:2]:
        await sessions.turn(store, claim, "which?", wait="receive:1")
        await clock.advance(1_000)
    found = await store.needs.count("default", ["blue", "green"])
    assert found["blue"] == Needs(running=1, waiting=2, oldest_wait=from_ms(begun))
    assert found["green"] == Needs()
    await sessions.deliver(store, "this", user="ann")
    again = (await store.needs.count("default", ["blue"]))["blue"]
    assert again == Needs(running=2, waiting=1, oldest_wait=from_ms(begun + 1_000))


async def test_what_ended_needs_nothing(store: Store) -> None:
    """In every way to end: completed, failed, cancelled, erased with its session."""
    completed, cancelled = [await create_one(store, requires=("rev:blue",)) for _ in range(2)]
    claim = await claim_one(store, completed, capabilities=["rev:blue"])
    await store.executions.complete(claim.id, claim.lease, b"1")
    await store.executions.cancel(cancelled, "")
    talk = await begin(store)
    await sessions.turn(store, talk, "which?", wait="receive:1")
    await store.sessions.erase(sessions.session_of(talk))
    assert (await store.needs.count("default", ["blue"]))["blue"] == Needs()


async def test_an_execution_that_is_replayed_needs_its_revision_again(store: Store) -> None:
    """It still requires it."""
    execution = await create_one(store, requires=("rev:blue",))
    await store.executions.cancel(execution, "")
    await store.executions.replay(execution, keep_steps=False, from_step="", reason="")
    assert (await store.needs.count("default", ["blue"]))["blue"] == Needs(running=1)


async def test_a_session_that_starts_again_without_a_revision_has_none(store: Store) -> None:
    """The record shows the last execution."""
    claim = await begin(store)
    assert (await sessions.session(store, sessions.session_of(claim))).revision == "blue"
    await store.executions.complete(claim.id, claim.lease, b"1")
    delivered = await sessions.deliver(store, "again")
    assert (await sessions.session(store, delivered.session)).revision is None
