"""hf_session_handover."""

from __future__ import annotations

import pytest

from holdfast.errors import SessionNotFound
from holdfast.model.executions import Failure
from holdfast.model.sessions import Effect, SessionState
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, refused, state_of
from tests.support.mailbox import Mailbox
from tests.support.sessions import (
    begin,
    deliver,
    entries,
    first_texts,
    lines,
    park,
    session,
    session_of,
    texts_of,
    turn,
)
from tests.support.waits import record_calls


async def test_a_person_takes_a_waiting_session(store: Store, clock: Clock, dump: Dump) -> None:
    """Messages reach the conversation again when it is given back, those from then on."""
    claim = await park(store)
    session_id = session_of(claim)
    await store.sessions.handover(session_id, "eve")
    await deliver(store, "for eve")
    found = await session(store, session_id)
    assert (found.state, found.person) == (SessionState.PERSON, "eve")
    await store.sessions.handover(session_id, None)
    found = await session(store, session_id)
    assert (found.state, found.person) == (SessionState.WAITING, None)
    assert (await deliver(store, "for the bot")).effect is Effect.RESUMED
    again = await claim_one(store, claim.id)
    assert texts_of(again.steps["receive:1"]) == ["for the bot"]
    assert violations(dump(), clock.now_ms) == []


async def test_another_person_goes_on(store: Store, clock: Clock, dump: Dump) -> None:
    """What came since the first one took it is given back together."""
    claim = await park(store, wait="person:1", person="eve")
    session_id = session_of(claim)
    await deliver(store, "one")
    await store.sessions.handover(session_id, "bob")
    assert (await session(store, session_id)).person == "bob"
    await deliver(store, "two")
    await store.sessions.handover(session_id, None)
    assert texts_of((await claim_one(store, claim.id)).steps["person:1"]) == ["one", "two"]
    assert violations(dump(), clock.now_ms) == []


async def test_the_transcript_notes_who_answers_and_why(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Each change once, of an operator or of the conversation itself; the user does not see it."""
    calls = record_calls(store)
    claim = await park(store, wait="person:1", person="eve", reason="a refund")
    session_id = session_of(claim)
    assert (await session(store, session_id)).handover_reason == "a refund"
    await store.sessions.handover(session_id, "bob", "eve is ill")
    await calls.again()
    assert (await session(store, session_id)).handover_reason == "eve is ill"
    await store.sessions.handover(session_id, None, "solved")
    await calls.again()
    assert (await session(store, session_id)).handover_reason is None
    notes = [entry for entry in await entries(store, session_id) if entry.direction == "note"]
    assert [entry.text for entry in notes] == [
        "eve answers: a refund",
        "bob answers: eve is ill",
        "the conversation answers: solved",
    ]
    assert notes[0].value["handover"] == "eve"
    assert {(entry.delivery, entry.execution) for entry in notes} == {(None, None)}
    assert violations(dump(), clock.now_ms) == []


async def test_the_last_hundred_messages_are_given_back(store: Store) -> None:
    """The result of a step is bounded."""
    claim = await park(store, wait="person:1", person="eve")
    for n in range(105):
        await deliver(store, str(n))
    await store.sessions.handover(session_of(claim), None)
    received = texts_of((await claim_one(store, claim.id)).steps["person:1"])
    assert received == [str(n) for n in range(5, 105)]


async def test_a_turn_that_runs_goes_on(store: Store, clock: Clock, dump: Dump) -> None:
    """It may reply and wait; it hears of nothing until the session is given back."""
    claim = await begin(store)
    session_id = session_of(claim)
    await store.sessions.handover(session_id, "eve")
    await deliver(store, "for eve")
    assert (await turn(store, claim, "one", wait="receive:1")).suspended
    assert violations(dump(), clock.now_ms) == []
    assert await lines(store, session_id) == ["> hi", "# eve answers", "> for eve", "< one"]


async def test_what_was_buffered_is_the_persons_when_the_execution_ends(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """No execution starts for it, now or later."""
    claim = await begin(store)
    session_id = session_of(claim)
    await deliver(store, "two")
    await store.sessions.handover(session_id, "eve")
    await store.executions.fail(claim.id, claim.lease, Failure(type="E", message=""))
    assert (await session(store, session_id)).buffered == 0
    assert violations(dump(), clock.now_ms) == []
    await store.sessions.handover(session_id, None)
    assert (await session(store, session_id)).state is SessionState.IDLE
    delivered = await deliver(store, "three")
    assert delivered.effect is Effect.STARTED
    assert first_texts(await claim_one(store, delivered.execution or "")) == ["three"]


async def test_giving_back_twice_changes_nothing(store: Store, dump: Dump) -> None:
    """Nor does giving back what nobody took."""
    calls = record_calls(store)
    claim = await park(store, wait="person:1", person="eve")
    await store.sessions.handover(session_of(claim), None)
    before = dump()
    ((again, *_),) = await calls.again()
    assert again.decode() == session_of(claim)
    assert dump() == before
    assert await state_of(store, claim.id) is State.WAITING


@pytest.mark.parametrize("to", ["eve", None])
async def test_a_repeated_call_leaves_what_others_did_since(
    store: Store, dump: Dump, to: str | None
) -> None:
    """Its reply was lost: it gets the first answer, and who answers now goes on."""
    calls = record_calls(store)
    session_id = session_of(await park(store))
    await store.sessions.handover(session_id, "ann")
    await store.sessions.handover(session_id, to)
    first = await calls.again()
    await store.sessions.handover(session_id, "bob")
    before = dump()
    assert await calls.again(-2) == first
    assert dump() == before


async def test_readers_are_told(store: Store, mailbox: Mailbox) -> None:
    """Both ways."""
    session_id = session_of(await park(store))
    await store.sessions.read(session_id, process=mailbox.process)
    await store.sessions.handover(session_id, "eve")
    await store.sessions.handover(session_id, None)
    assert await mailbox.wait(2) == [f"session {session_id}"] * 2


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """There is nothing to take."""
    call = store.sessions.handover("snobody", "eve")
    await refused(call, SessionNotFound, dump, id="snobody")
