"""hf_session_read."""

from __future__ import annotations

from holdfast.errors import SessionNotFound
from holdfast.model.moments import from_ms
from holdfast.model.sessions import SessionState
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, refused
from tests.support.sessions import begin, deliver, key_of, session, session_of, turn
from tests.support.waits import suspend


async def test_the_transcript_page_by_page(store: Store) -> None:
    """Pages say whether more follows."""
    claim = await begin(store)
    session_id = session_of(claim)
    await turn(store, claim, "a", "b", "c")
    pages, after, more = [], 0, True
    while more:
        found = await store.sessions.read(session_id, after=after, limit=3)
        pages.append([entry.text for entry in found.entries])
        after, more = found.entries[-1].number, found.more
    assert pages == [["hi", "a", "b"], ["c"]]
    past = await store.sessions.read(session_id, after=99, limit=3)
    assert (past.entries, past.more) == ((), False)
    alone = await store.sessions.read(session_id)
    assert (alone.entries, alone.session.last) == ((), 4)


async def test_what_a_session_does(store: Store, clock: Clock) -> None:
    """It runs, waits for a message or something else, or rests."""
    born = clock.now_ms
    claim = await begin(store)
    session_id = session_of(claim)
    await clock.advance(1_000)
    (point,) = (await suspend(store, claim, "gate")).waitpoints
    found = await session(store, session_id)
    assert (found.state, found.execution_state) == (SessionState.SUSPENDED, State.SUSPENDED)
    assert (found.key, found.kind, found.turn, found.since) == (key_of(), "bot", 1, None)
    await store.waitpoints.resume(claim.id, b"null", "")
    claim = await claim_one(store, claim.id)
    await deliver(store, "two")
    found = await session(store, session_id)
    assert (found.state, found.execution_state) == (SessionState.RUNNING, State.ACTIVE)
    assert (found.buffered, found.last, found.executions) == (1, 2, 1)
    assert (found.created_at, found.active_at) == (from_ms(born), from_ms(born + 1_000))
    await store.executions.cancel(claim.id, "")
    await store.sessions.finish(session_id, "")
    found = await session(store, session_id)
    assert (found.state, found.execution, found.execution_state) == (SessionState.IDLE, None, None)
    assert (found.executions, found.turn, found.person) == (2, 2, None)
    assert point.id


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """There is nothing to read."""
    await refused(store.sessions.read("snobody"), SessionNotFound, dump, id="snobody")
