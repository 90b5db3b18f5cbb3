"""hf_session_finish."""

from __future__ import annotations

import pytest

from holdfast.errors import SessionNotFound
from holdfast.model.sessions import Effect, SessionState
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused, state_of
from tests.support.sessions import begin, deliver, lines, park, session, session_of
from tests.support.waits import record_calls


@pytest.mark.parametrize("moment", ["runs", "waits", "person"])
async def test_what_runs_or_waits_is_cancelled(
    store: Store, clock: Clock, dump: Dump, moment: str
) -> None:
    """What was buffered is dropped, nobody apologises, the next message starts again."""
    claim = await begin(store) if moment == "runs" else await park(store)
    session_id = session_of(claim)
    if moment == "runs":
        await deliver(store, "two")
    elif moment == "person":
        await store.sessions.handover(session_id, "eve")
    await store.sessions.finish(session_id, "enough")
    found = await store.queries.describe(claim.id)
    assert (found.state, found.reason) == (State.CANCELLED, "enough")
    after = await session(store, session_id)
    assert (after.state, after.buffered, after.person) == (SessionState.IDLE, 0, None)
    assert violations(dump(), clock.now_ms) == []
    delivered = await deliver(store, "again")
    assert (delivered.effect, delivered.execution) == (Effect.STARTED, f"{session_id}~2")
    assert not [line for line in await lines(store, session_id) if line.startswith("<")]


async def test_ending_twice_changes_nothing(store: Store, dump: Dump) -> None:
    """Nor does ending what has ended."""
    calls = record_calls(store)
    session_id = session_of(await begin(store))
    await store.sessions.finish(session_id, "")
    before = dump()
    ((again, *_),) = await calls.again()
    assert again.decode() == session_id
    assert dump() == before


async def test_a_repeated_call_leaves_what_started_since(store: Store, dump: Dump) -> None:
    """Its reply was lost: it gets the first answer."""
    calls = record_calls(store)
    session_id = session_of(await begin(store))
    await store.sessions.finish(session_id, "")
    first = await calls.again()
    end = len(calls.calls) - 1
    delivered = await deliver(store, "again")
    before = dump()
    assert await calls.again(end) == first
    assert dump() == before
    assert await state_of(store, delivered.execution or "") is State.WAITING


async def test_older_processes_send_no_token(store: Store) -> None:
    """Each of their calls ends what runs."""
    session_id = session_of(await begin(store))
    call = ("hf_session_finish", store.tag_of(session_id), session_id, "")
    await store.caller.write(*call)
    delivered = await deliver(store, "again")
    await store.caller.write(*call)
    assert await state_of(store, delivered.execution or "") is State.CANCELLED


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """There is nothing to end."""
    await refused(store.sessions.finish("snobody", ""), SessionNotFound, dump, id="snobody")
