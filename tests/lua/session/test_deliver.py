"""hf_session_deliver."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from holdfast.errors import LaneDraining, SessionBusy, SessionFull
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.sessions import Effect, SessionState
from holdfast.model.states import Hold, State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_in, claim_one, refused, state_of
from tests.support.limits import make_quota
from tests.support.mailbox import Mailbox
from tests.support.sessions import (
    begin,
    deliver,
    entries,
    first_texts,
    key_of,
    lines,
    park,
    reply,
    session,
    session_of,
    texts_of,
    turn,
)
from tests.support.waits import record_calls, send, suspend


async def test_the_first_message_starts_an_execution(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Its input holds the message, and its id is the session's with a number."""
    answer = await deliver(store, "hi", id="m1", tags={"team": "red"}, priority=2)
    assert answer.session == key_of().id
    assert (answer.number, answer.effect, answer.duplicate) == (1, Effect.STARTED, False)
    assert answer.execution == f"{answer.session}~1"
    assert violations(dump(), clock.now_ms) == []
    claim = await claim_one(store, answer.execution)
    assert claim.session is not None
    assert (claim.session.key, claim.session.turn) == (key_of(), 1)
    assert (claim.kind, claim.tags, claim.priority) == ("bot", {"team": "red"}, 2)
    assert msgspec.json.decode(claim.input) == {
        "messages": [
            {
                "number": 1,
                "at": clock.now_ms,
                "id": "m1",
                "payload": {"text": "hi"},
            }
        ]
    }
    found = await session(store, answer.session)
    assert (found.state, found.execution, found.last) == (SessionState.RUNNING, claim.id, 1)
    assert (found.created_at, found.active_at) == (from_ms(clock.now_ms),) * 2


async def test_a_repeated_message_gets_the_first_answer(store: Store, dump: Dump) -> None:
    """Whatever became of it since: it started, resumed, was buffered, was received."""
    calls = record_calls(store)
    claim = await begin(store, id="m1")
    assert session_of(claim) == key_of().id
    await deliver(store, "two", id="m2")
    buffered = len(calls.calls) - 1
    await turn(store, claim, wait="receive:1")
    await turn(store, claim, "answer", wait="receive:2")
    await deliver(store, "three", id="m3")
    before = dump()
    answers = [await deliver(store, text, id=f"m{n}") for n, text in enumerate("abc", 1)]
    assert [answer.effect for answer in answers] == ["started", "buffered", "resumed"]
    assert [answer.number for answer in answers] == [1, 2, 4]
    assert {answer.execution for answer in answers} == {claim.id}
    assert all(answer.duplicate for answer in answers)
    assert await calls.again(buffered) == [b"buffered", 2, claim.id.encode(), 1]
    assert dump() == before


async def test_other_events_say_what_they_are(store: Store) -> None:
    """Ids and kinds are valid JSON, whatever they contain."""
    claim = await begin(store, id='a"b\\c', kind="event")
    (message,) = msgspec.json.decode(claim.input)["messages"]
    assert (message["id"], message["kind"]) == ('a"b\\c', "event")


async def test_another_user_has_another_session(store: Store, clock: Clock, dump: Dump) -> None:
    """The same id of a message from another user is another message."""
    one, other = await deliver(store, id="m1"), await deliver(store, id="m1", user="bob")
    assert one.session != other.session
    assert not other.duplicate
    assert violations(dump(), clock.now_ms) == []


async def test_a_message_resumes_the_conversation_that_waits(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It is the result of the step on which the conversation waited."""
    first = await park(store, "hello")
    await clock.advance(1_000)
    answer = await deliver(store, "two")
    assert (answer.effect, answer.execution, answer.number) == (Effect.RESUMED, first.id, 3)
    assert await state_of(store, first.id) is State.WAITING
    assert violations(dump(), clock.now_ms) == []
    second = await claim_one(store, first.id)
    assert (second.lease.attempt, second.lease.epoch) == (0, 2)
    assert texts_of(second.steps["receive:1"]) == ["two"]
    assert second.session is not None
    assert second.session.turn == 3
    assert await lines(store, session_of(first)) == ["> hi", "< hello", "> two"]


@pytest.mark.parametrize("moment", ["waiting", "active", "delayed", "backoff", "approval"])
async def test_a_message_to_a_busy_conversation_is_buffered(
    store: Store, clock: Clock, dump: Dump, moment: str
) -> None:
    """Unless it waits for a message, it receives it later."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=1_000))
    first = await deliver(store, retry=policy)
    assert first.execution is not None
    if moment != "waiting":
        claim = await claim_one(store, first.execution)
    if moment == "delayed":
        await store.executions.delay(claim.id, claim.lease, 1_000)
    elif moment == "backoff":
        await store.executions.fail(claim.id, claim.lease, Failure(type="E", message=""))
    elif moment == "approval":
        (point,) = (await suspend(store, claim, "gate")).waitpoints
    answer = await deliver(store, "two", retry=policy)
    assert (answer.effect, answer.execution) == (Effect.BUFFERED, first.execution)
    assert (await session(store, first.session)).buffered == 1
    assert violations(dump(), clock.now_ms) == []
    if moment in ("delayed", "backoff"):
        await clock.advance_and_tick(1_000)
    elif moment == "approval":
        await send(store, point)
    if moment != "active":
        claim = await claim_one(store, first.execution)
    turned = await turn(store, claim, wait="receive:1")
    assert texts_of(turned.received) == ["two"]
    assert (await session(store, first.session)).buffered == 0


async def test_queued_messages_are_received_one_by_one(store: Store) -> None:
    """In the order in which they came."""
    claim = await begin(store)
    for text in ("two", "three"):
        await deliver(store, text)
    first = await turn(store, claim, wait="receive:1")
    second = await turn(store, claim, "answer", wait="receive:2")
    assert [texts_of(one.received) for one in (first, second)] == [["two"], ["three"]]
    assert [entry.turn for entry in await entries(store, session_of(claim))] == [
        None,
        None,
        None,
        2,
    ]


async def test_merged_messages_are_received_together(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The reply answers the last of them, and the others tell which that is."""
    claim = await begin(store, busy="merge")
    for text in ("two", "three", "four"):
        assert (await deliver(store, text, busy="merge")).effect is Effect.BUFFERED
    turned = await turn(store, claim, wait="receive:1")
    assert texts_of(turned.received) == ["two", "three", "four"]
    await turn(store, claim, "answer", wait="receive:2")
    found = await entries(store, session_of(claim))
    assert [entry.turn for entry in found] == [None, 4, 4, None, 4]
    assert violations(dump(), clock.now_ms) == []


async def test_a_message_interrupts_the_turn(store: Store, clock: Clock, dump: Dump) -> None:
    """What ran is cancelled, and a new execution begins with the message."""
    first = await begin(store, busy="interrupt")
    await turn(store, first, "half an answer")
    answer = await deliver(store, "two", busy="interrupt")
    assert (answer.effect, answer.execution) == (Effect.INTERRUPTED, f"{answer.session}~2")
    found = await store.queries.describe(first.id)
    assert (found.state, found.reason) == (State.CANCELLED, "interrupted by message 3")
    assert violations(dump(), clock.now_ms) == []
    second = await claim_one(store, answer.execution or "")
    assert first_texts(second) == ["two"]
    assert (await deliver(store, "three", busy="interrupt")).effect is Effect.INTERRUPTED
    assert violations(dump(), clock.now_ms) == []


async def test_what_waits_for_the_turn_is_dropped_when_a_message_interrupts_it(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The new execution begins with the message that interrupts."""
    first = await begin(store)
    await deliver(store, "two")
    answer = await deliver(store, "three", busy="interrupt")
    assert (answer.effect, answer.execution) == (Effect.INTERRUPTED, f"{answer.session}~2")
    assert (await session(store, session_of(first))).buffered == 0
    assert first_texts(await claim_one(store, answer.execution or "")) == ["three"]
    assert violations(dump(), clock.now_ms) == []


async def test_an_interrupted_reply_is_cut_short(store: Store, clock: Clock, dump: Dump) -> None:
    """Readers and senders do not wait for the rest of it."""
    claim = await begin(store, busy="interrupt", sender="web")
    half = [reply("say:1", "", open=True)]
    await store.sessions.turn(claim.id, claim.lease, half, None)
    answer = await deliver(store, "two", busy="interrupt", sender="web")
    assert not any(entry.open for entry in await entries(store, answer.session))
    assert violations(dump(), clock.now_ms) == []


async def test_a_message_does_not_interrupt_a_conversation_that_waits_for_it(
    store: Store,
) -> None:
    """There is no turn to cancel."""
    claim = await park(store)
    answer = await deliver(store, "two", busy="interrupt")
    assert (answer.effect, answer.execution) == (Effect.RESUMED, claim.id)


async def test_a_busy_conversation_may_refuse(store: Store, dump: Dump) -> None:
    """Nothing is written; when it waits again, the message is welcome."""
    claim = await begin(store, busy="reject")
    call = deliver(store, "two", busy="reject")
    await refused(call, SessionBusy, dump, id=session_of(claim))
    await turn(store, claim, wait="receive:1")
    assert (await deliver(store, "two", busy="reject")).effect is Effect.RESUMED


async def test_the_number_of_buffered_messages_is_bounded(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A hundred wait; one more is refused."""
    claim = await begin(store)
    for n in range(100):
        await deliver(store, str(n))
    await refused(deliver(store, "no"), SessionFull, dump, id=session_of(claim), limit=100)
    assert violations(dump(), clock.now_ms) == []


async def test_nothing_starts_in_a_draining_lane(store: Store, dump: Dump) -> None:
    """Conversations that are under way go on."""
    claim = await park(store)
    await store.lanes.set_state("default", "draining")
    call = deliver(store, user="bob")
    await refused(call, LaneDraining, dump, id=key_of("bob").id, lane="default")
    assert (await deliver(store, "two")).effect is Effect.RESUMED
    again = await claim_one(store, claim.id)
    assert (await deliver(store, "three")).effect is Effect.BUFFERED
    await store.executions.complete(again.id, again.lease, b"null")
    following = await claim_one(store, f"{session_of(claim)}~2")
    assert first_texts(following) == ["three"]
    call = deliver(store, "four", busy="interrupt")
    await refused(call, LaneDraining, dump, id=session_of(claim), lane="default")


async def test_what_was_buffered_starts_the_next_execution(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """With the options of the one that ended."""
    options: dict[str, Any] = {"tags": {"team": "red"}, "priority": 1, "deadline_ms": 60_000}
    claim = await begin(store, **options)
    await deliver(store, "two", **options)
    await deliver(store, "three", **options)
    await store.executions.complete(claim.id, claim.lease, b"null")
    assert violations(dump(), clock.now_ms) == []
    second = await claim_one(store, f"{session_of(claim)}~2")
    assert first_texts(second) == ["two"]
    assert (second.tags, second.priority) == ({"team": "red"}, 1)
    assert second.deadline_at == from_ms(clock.now_ms + 60_000)
    found = await entries(store, session_of(claim))
    assert [entry.execution for entry in found] == [claim.id, second.id, claim.id]
    await store.executions.cancel(second.id, "enough")
    third = await claim_one(store, f"{session_of(claim)}~3")
    assert first_texts(third) == ["three"]
    assert violations(dump(), clock.now_ms) == []


async def test_what_was_buffered_is_subject_to_the_same_limits(store: Store) -> None:
    """However many they are."""
    quotas = tuple(f"quota-{n}-of-a-long-name" for n in range(5))
    for quota in quotas:
        await make_quota(store, quota)
    first = (await deliver(store, quotas=quotas)).execution
    assert first is not None
    assert (await deliver(store, "two", quotas=quotas)).effect is Effect.BUFFERED
    await store.executions.cancel(first, "")
    found = await store.queries.describe(first.removesuffix("~1") + "~2")
    assert (found.state, found.quotas) == (State.WAITING, quotas)


async def test_a_message_after_the_end_starts_the_next_execution(store: Store) -> None:
    """The session goes on."""
    claim = await begin(store)
    await store.executions.complete(claim.id, claim.lease, b"null")
    assert (await session(store, session_of(claim))).state is SessionState.IDLE
    answer = await deliver(store, "two")
    assert (answer.effect, answer.number) == (Effect.STARTED, 2)
    assert answer.execution == f"{answer.session}~2"
    assert (await session(store, answer.session)).executions == 2


@pytest.mark.parametrize("apology", [None, 'We "regret" it.\\ äöü'])
async def test_a_failed_conversation_apologises(
    store: Store, clock: Clock, dump: Dump, apology: str | None
) -> None:
    """The apology is never empty, is valid JSON, and answers the last message."""
    claim = await begin(store, apology=apology)
    await store.executions.fail(claim.id, claim.lease, Failure(type="E", message="secret"))
    *_, last = await entries(store, session_of(claim))
    assert last.value == {
        "text": apology or "Something went wrong. Please try again.",
        "error": "failed",
    }
    assert (last.turn, last.execution, last.author) == (1, claim.id, None)
    assert violations(dump(), clock.now_ms) == []


async def test_an_expired_conversation_apologises_and_goes_on(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A deadline may pass while nobody works on it, and while it waits for a message."""
    answer = await deliver(store, deadline_ms=1_000)
    await deliver(store, "two", deadline_ms=1_000)
    await clock.advance_and_tick(1_000)
    second = await claim_one(store, f"{answer.session}~2")
    assert first_texts(second) == ["two"]
    await turn(store, second, "hello", wait="receive:1")
    await clock.advance_and_tick(1_000)
    assert await state_of(store, second.id) is State.EXPIRED
    sorry = "< Something went wrong. Please try again."
    found = await lines(store, answer.session)
    assert found == ["> hi", "> two", sorry, "< hello", sorry]
    assert (await session(store, answer.session)).state is SessionState.IDLE
    assert violations(dump(), clock.now_ms) == []


async def test_a_cancelled_conversation_does_not_apologise(store: Store) -> None:
    """Somebody wanted it so."""
    claim = await begin(store)
    await store.executions.cancel(claim.id, "")
    assert await lines(store, session_of(claim)) == ["> hi"]


async def test_a_person_gets_the_messages(store: Store, clock: Clock, dump: Dump) -> None:
    """They are in the transcript, and start and resume nothing."""
    claim = await park(store)
    session_id = session_of(claim)
    await store.sessions.handover(session_id, "eve")
    answer = await deliver(store, "two", id="m2")
    assert (answer.effect, answer.execution, answer.number) == (Effect.PERSON, None, 3)
    assert (await deliver(store, "two", id="m2")).duplicate
    found = await session(store, session_id)
    assert (found.state, found.person, found.buffered) == (SessionState.PERSON, "eve", 0)
    assert (await store.queries.describe(claim.id)).hold is Hold.MESSAGE
    assert violations(dump(), clock.now_ms) == []


async def test_the_transcript_is_trimmed(store: Store, clock: Clock, dump: Dump) -> None:
    """A thousand entries stay; the ids of those that went are forgotten."""
    claim = await begin(store, id="m0")
    session_id = session_of(claim)
    await store.sessions.handover(session_id, "eve")
    for n in range(1, 1_004):
        await deliver(store, str(n), id=f"m{n}")
    found = await entries(store, session_id)
    assert [found[0].number, found[-1].number, len(found)] == [6, 1_005, 1_000]
    assert violations(dump(), clock.now_ms) == []
    assert (await deliver(store, id="m4")).duplicate
    assert not (await deliver(store, id="m0")).duplicate


async def test_buffered_messages_are_never_trimmed(store: Store, clock: Clock, dump: Dump) -> None:
    """The conversation receives them, however much was said since."""
    claim = await begin(store)
    await deliver(store, "two")
    texts = [str(n) for n in range(1_050)]
    for first in range(0, 1_050, 50):
        await turn(store, claim, *texts[first : first + 50])
    found = await entries(store, session_of(claim))
    assert (found[0].number, found[-1].number) == (2, 1_052)
    turned = await turn(store, claim, wait="receive:1")
    assert texts_of(turned.received) == ["two"]
    for _ in range(4):
        await store.sessions.say(session_of(claim), f"k{_}", "eve", b'{"text":"x"}')
    assert len(await entries(store, session_of(claim))) == 1_000
    assert violations(dump(), clock.now_ms) == []


async def test_old_entries_go_after_the_retention_of_sessions(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Looked at once in sixteen entries."""
    await store.lanes.set_retention("default", {"session": 60_000})
    claim = await park(store, "hello")
    await clock.advance(60_001)
    await store.sessions.handover(session_of(claim), "eve")
    for n in range(13):
        await deliver(store, str(n))
    found = await entries(store, session_of(claim))
    assert (found[0].number, found[-1].number) == (3, 16)
    assert violations(dump(), clock.now_ms) == []


async def test_another_sender_takes_over_the_replies(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The one that the last message names sends what was not sent."""
    claim = await begin(store, sender="web")
    await turn(store, claim, "hello", wait="receive:1")
    await deliver(store, "two", sender="sms")
    tag = store.tag_of(claim.id)
    options = {"lease_ms": 1_000, "limit": 10}
    assert await store.sessions.outgoing(tag, "f1", ["web"], **options) == ([], None)
    ((handed,), _) = await store.sessions.outgoing(tag, "f2", ["sms"], **options)
    assert (handed.sender, [reply.number for reply in handed.replies]) == ("sms", [2])
    assert violations(dump(), clock.now_ms) == []


async def test_readers_are_told(store: Store, mailbox: Mailbox) -> None:
    """Whoever listens hears of a message."""
    claim = await park(store)
    session_id = session_of(claim)
    await store.sessions.read(session_id, process=mailbox.process)
    await deliver(store, "two")
    assert await mailbox.wait() == [f"session {session_id}"]


async def test_a_tenant_has_sessions_of_its_own(store: Store, clock: Clock, dump: Dump) -> None:
    """The same user with another tenant is another session, whose executions are the tenant's."""
    one, other = await deliver(store), await deliver(store, tenant="acme")
    assert one.session != other.session
    (claim,) = await claim_in(store, store.tag_of(other.session), tenant="acme")
    assert (claim.id, claim.tenant) == (other.execution, "acme")
    assert violations(dump(), clock.now_ms) == []
