"""hf_session_turn."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.errors import SessionNotFound, StaleLease, TooManySteps
from holdfast.model.executions import Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.sessions import SessionState
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_in,
    claim_one,
    create_one,
    lose_lease,
    refused,
    state_of,
)
from tests.support.mailbox import Mailbox
from tests.support.sessions import (
    begin,
    deliver,
    entries,
    lines,
    park,
    reply,
    session,
    session_of,
    texts_of,
    turn,
)
from tests.support.waits import record_calls, send, suspend


async def test_replies_are_written_once_per_step(store: Store, clock: Clock, dump: Dump) -> None:
    """Each is recorded as a step whose result is its number."""
    claim = await begin(store)
    turned = await turn(store, claim, "one", "two")
    assert (turned.numbers, turned.suspended, turned.received) == ((2, 3), False, None)
    before = dump()
    assert (await turn(store, claim, "two", "one")).numbers == (3, 2)
    assert dump() == before
    assert (await turn(store, claim, "one", "three")).numbers == (2, 4)
    steps = {step.name: step.result for step in await store.queries.steps(claim.id)}
    assert steps == {"say:one": b"2", "say:two": b"3", "say:three": b"4"}
    found = await entries(store, session_of(claim))
    assert [(entry.turn, entry.execution) for entry in found[1:]] == [(1, claim.id)] * 3
    assert violations(dump(), clock.now_ms) == []


async def test_a_new_attempt_repeats_no_reply(store: Store, clock: Clock, dump: Dump) -> None:
    """The worker died after its replies were written."""
    first = await begin(store)
    await turn(store, first, "one")
    await clock.advance_and_tick(30_000)
    second = await claim_one(store, first.id)
    assert second.attempt_kind is AttemptKind.RECLAIM
    assert second.steps == {"say:one": b"2"}
    assert (await turn(store, second, "one", "two", wait="receive:1")).numbers == (2, 3)
    assert await lines(store, session_of(first)) == ["> hi", "< one", "< two"]
    assert violations(dump(), clock.now_ms) == []


async def test_the_end_of_a_turn_gives_the_lease_back(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The execution waits for a message, for as long as it takes."""
    claim = await begin(store, attempt_timeout_ms=60_000)
    await clock.advance(1_000)
    turned = await turn(store, claim, "one", wait="receive:1")
    assert (turned.numbers, turned.suspended, turned.received) == ((2,), True, None)
    found = await store.queries.describe(claim.id)
    assert (found.state, found.hold) == (State.SUSPENDED, Hold.MESSAGE)
    waits = await session(store, session_of(claim))
    assert (waits.state, waits.since) == (SessionState.WAITING, from_ms(clock.now_ms))
    assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(10**9)
    assert await state_of(store, claim.id) is State.SUSPENDED
    await deliver(store, "two")
    again = await claim_one(store, claim.id)
    assert again.timeout_at == from_ms(clock.now_ms + 60_000)


async def test_the_same_call_again_gets_the_first_answer(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """While it waits, and after a message came; not after the next claim."""
    calls = record_calls(store)
    claim = await park(store, "one", "two")
    waiting = len(calls.calls) - 1
    answer = [b"suspended", b"", 2, 3]
    before = dump()
    assert await calls.again(waiting) == answer
    assert dump() == before
    await deliver(store, "two")
    assert await calls.again(waiting) == answer
    await claim_one(store, claim.id)
    context = {"id": claim.id, "state": "active", "epoch": 2}
    await refused(calls.again(waiting), StaleLease, dump, **context)
    assert violations(dump(), clock.now_ms) == []


async def test_a_wait_that_found_something_finds_it_again(store: Store, dump: Dump) -> None:
    """A lost reply loses no message."""
    calls = record_calls(store)
    claim = await begin(store)
    await deliver(store, "two")
    await deliver(store, "three")
    turned = await turn(store, claim, "one", wait="receive:1")
    assert texts_of(turned.received) == ["two"]
    before = dump()
    state, received, number = await calls.again()
    assert (state, received, number) == (b"active", turned.received, 4)
    assert dump() == before


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder_takes_turns(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever lost the lease writes nothing."""
    lost = await lose_lease(store, clock, how)
    call = store.sessions.turn(lost.id, lost.lease, [reply("say:1", "x")], None)
    await refused(call, lost.error, dump, **lost.context)


async def test_only_an_execution_of_a_session_takes_turns(store: Store, dump: Dump) -> None:
    """Others have nobody to talk to."""
    claim = await claim_one(store, await create_one(store))
    await refused(turn(store, claim, "x"), SessionNotFound, dump, id=claim.id)


async def test_the_journal_is_bounded(store: Store, dump: Dump) -> None:
    """A conversation that never starts again with `continue_as` ends here."""
    claim = await begin(store)
    tag = store.tag_of(claim.id)
    packed = [part for n in range(9_999) for part in (f"s{n}", "1 1 1")]
    await store.client.call(["HSET", f"{tag}:s:{claim.id}", *packed])
    call = turn(store, claim, "x")
    await refused(call, TooManySteps, dump, id=claim.id, limit=10_000)


async def test_the_last_turn_that_fits_may_be_repeated(store: Store, dump: Dump) -> None:
    """What it wrote is not counted again."""
    claim = await begin(store)
    await deliver(store, "next")
    tag = store.tag_of(claim.id)
    packed = [part for n in range(9_998) for part in (f"s{n}", "1 1 1")]
    await store.client.call(["HSET", f"{tag}:s:{claim.id}", *packed])
    calls = record_calls(store)
    assert texts_of((await turn(store, claim, "x", wait="receive:1")).received) == ["next"]
    before = dump()
    state, received, number = await calls.again()
    assert (state, texts_of(received), number) == (b"active", ["next"], 3)
    assert dump() == before


async def test_a_turn_needs_room_for_what_is_new(store: Store, dump: Dump) -> None:
    """One step for each reply that is not recorded yet, and one for the wait."""
    claim = await begin(store)
    await turn(store, claim, "a")
    tag = store.tag_of(claim.id)
    packed = [part for n in range(9_996) for part in (f"s{n}", "1 1 1")]
    await store.client.call(["HSET", f"{tag}:s:{claim.id}", *packed])
    call = turn(store, claim, *"abcd", wait="receive:1")
    await refused(call, TooManySteps, dump, id=claim.id, limit=10_000)
    turned = await turn(store, claim, *"abc", wait="receive:1")
    assert (turned.suspended, turned.numbers) == (True, (2, 3, 4))


# Time


async def test_a_wait_for_a_message_times_out(
    store: Store, clock: Clock, dump: Dump, mailbox: Mailbox
) -> None:
    """The step holds no message; a later message is buffered."""
    claim = await park(store, "one", timeout_ms=5_000)
    session_id = session_of(claim)
    await store.sessions.read(session_id, process=mailbox.process)
    waiting = await store.queries.describe(claim.id)
    assert waiting.wait_until == from_ms(clock.now_ms + 5_000)
    await clock.advance_and_tick(4_999)
    assert await state_of(store, claim.id) is State.SUSPENDED
    await clock.advance_and_tick(1)
    assert await state_of(store, claim.id) is State.WAITING
    assert await mailbox.wait() == [f"session {session_id}"]
    assert (await deliver(store, "late")).effect == "buffered"
    assert (await store.queries.describe(claim.id)).wait_until is None
    again = await claim_one(store, claim.id)
    assert texts_of(again.steps["receive:1"]) == []
    assert texts_of((await turn(store, again, wait="receive:2")).received) == ["late"]
    assert violations(dump(), clock.now_ms) == []


async def test_a_message_before_its_time_turns_the_timeout_off(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Even one that comes when the time is over, but before anybody noticed."""
    claim = await park(store, timeout_ms=5_000)
    await clock.advance(5_001)
    assert (await deliver(store, "two")).effect == "resumed"
    await clock.advance_and_tick(10_000)
    again = await claim_one(store, claim.id)
    assert texts_of(again.steps["receive:1"]) == ["two"]
    assert violations(dump(), clock.now_ms) == []


# Which steps a claim hands out


async def test_a_worker_that_keeps_the_coroutine_gets_what_came_only(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Turn after turn, however long the journal is; and again after a lost reply."""
    claim = await park(store, "one", kept=True)
    for n in range(2, 5):
        await deliver(store, str(n))
        claims = [await claim_one(store, claim.id, worker="w1", request=f"r{n}") for _ in range(2)]
        for claim in claims:
            assert claim.kept
            assert {name: texts_of(value) for name, value in claim.steps.items()} == {
                f"receive:{n - 1}": [str(n)]
            }
        await turn(store, claim, f"answer {n}", wait=f"receive:{n}", kept=True)
        assert violations(dump(), clock.now_ms) == []


@pytest.mark.parametrize("why", ["not kept", "other worker", "reclaimed", "delayed", "approval"])
async def test_others_get_the_whole_journal(
    store: Store, clock: Clock, dump: Dump, why: str
) -> None:
    """Whoever cannot go on where the coroutine stopped."""
    first = await park(store, "one", kept=why != "not kept")
    await deliver(store, "two")
    worker = "w2" if why == "other worker" else "w1"
    claim = await claim_one(store, first.id, worker=worker)
    steps = {"say:one", "receive:1"}
    if why in ("reclaimed", "delayed", "approval"):
        assert claim.kept
        if why == "reclaimed":
            await clock.advance_and_tick(30_000)
        elif why == "delayed":
            await store.executions.delay(claim.id, claim.lease, 1_000)
            await clock.advance_and_tick(1_000)
        else:
            (point,) = (await suspend(store, claim, "gate")).waitpoints
            await send(store, point)
        claim = await claim_one(store, first.id)
    assert not claim.kept
    assert set(claim.steps) == steps
    assert violations(dump(), clock.now_ms) == []


async def test_a_timeout_is_handed_out_to_who_keeps_the_coroutine(
    store: Store, clock: Clock
) -> None:
    """It lacks nothing but that nothing came."""
    claim = await park(store, timeout_ms=1_000, kept=True)
    await clock.advance_and_tick(1_000)
    again = await claim_one(store, claim.id)
    assert (again.kept, again.steps) == (True, {"receive:1": b"[]"})


async def test_an_approval_between_two_messages(store: Store, clock: Clock, dump: Dump) -> None:
    """Waits of both kinds follow each other; neither is taken for the other."""
    claim = await begin(store)
    (point,) = (await suspend(store, claim, "gate")).waitpoints
    await send(store, point)
    claim = await claim_one(store, claim.id)
    await turn(store, claim, wait="receive:1")
    assert violations(dump(), clock.now_ms) == []
    await deliver(store, "two")
    claim = await claim_one(store, claim.id)
    assert claim.signals == ()
    (point,) = (await suspend(store, claim, "gate2")).waitpoints
    assert violations(dump(), clock.now_ms) == []
    await send(store, point)
    claim = await claim_one(store, claim.id)
    assert [signal.name for signal in claim.signals] == ["go"]


# A person


async def test_a_conversation_hands_over_to_a_person(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It gets what came meanwhile when the session is given back."""
    claim = await begin(store)
    session_id = session_of(claim)
    await deliver(store, "before")
    turned = await turn(store, claim, "wait please", wait="person:1", person="eve")
    assert turned.suspended
    found = await session(store, session_id)
    assert (found.state, found.person, found.buffered) == (SessionState.PERSON, "eve", 1)
    assert violations(dump(), clock.now_ms) == []
    await deliver(store, "one")
    await store.sessions.say(session_id, "k1", "eve", b'{"text":"yes"}')
    await deliver(store, "two")
    assert await state_of(store, claim.id) is State.SUSPENDED
    await store.sessions.handover(session_id, None)
    again = await claim_one(store, claim.id)
    assert texts_of(again.steps["person:1"]) == ["one", "two"]
    assert (await session(store, session_id)).state is SessionState.RUNNING
    assert texts_of((await turn(store, again, wait="receive:1")).received) == ["before"]
    assert violations(dump(), clock.now_ms) == []


async def test_a_wait_for_a_person_times_out(store: Store, clock: Clock, dump: Dump) -> None:
    """The conversation answers again."""
    claim = await park(store, wait="person:1", person="eve", timeout_ms=1_000)
    await deliver(store, "one")
    await clock.advance_and_tick(1_000)
    again = await claim_one(store, claim.id)
    assert texts_of(again.steps["person:1"]) == []
    assert (await session(store, session_of(claim))).person is None
    assert (await deliver(store, "two")).effect == "buffered"
    assert violations(dump(), clock.now_ms) == []


# Streamed replies


async def test_a_streamed_reply_keeps_its_number(store: Store, clock: Clock, dump: Dump) -> None:
    """It is opened, others are written, then it is completed, once."""
    claim = await begin(store)
    send_turn = store.sessions.turn
    opened = [reply("say:1", "", open=True)]
    assert (await send_turn(claim.id, claim.lease, opened, None)).numbers == (2,)
    await turn(store, claim, "other")
    assert violations(dump(), clock.now_ms) == []
    done = [reply("say:1:end", "hello", number=2)]
    assert (await send_turn(claim.id, claim.lease, done, None)).numbers == (2,)
    late = [reply("say:1:again", "changed", number=2)]
    await send_turn(claim.id, claim.lease, late, None)
    found = await entries(store, session_of(claim))
    assert [(entry.text, entry.open) for entry in found[1:]] == [
        ("hello", False),
        ("other", False),
    ]
    assert violations(dump(), clock.now_ms) == []


async def test_only_an_own_open_reply_is_completed(store: Store, dump: Dump) -> None:
    """Neither a message nor a reply of an earlier execution changes."""
    first = await begin(store)
    await turn(store, first, "one")
    await store.executions.complete(first.id, first.lease, b"null")
    second = await begin(store, "two")
    changed = [reply(f"s{n}", "changed", number=n) for n in (1, 2, 3, 99)]
    await store.sessions.turn(second.id, second.lease, changed, None)
    assert await lines(store, session_of(first)) == ["> hi", "< one", "> two"]


@pytest.mark.parametrize("how", ["failed", "completed", "cancelled", "ended"])
async def test_open_replies_are_cut_short_when_the_execution_ends(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """All of them: readers do not wait for the rest."""
    claim = await begin(store)
    opened = [reply("say:1", "a", open=True), reply("say:2", "b", open=True)]
    await store.sessions.turn(claim.id, claim.lease, opened, None)
    if how == "failed":
        await store.executions.fail(claim.id, claim.lease, Failure(type="E", message=""))
    elif how == "completed":
        await store.executions.complete(claim.id, claim.lease, b"null")
    elif how == "cancelled":
        await store.executions.cancel(claim.id, "")
    else:
        await store.sessions.finish(session_of(claim), "")
    found = await entries(store, session_of(claim))
    assert [entry.open for entry in found[1:3]] == [False, False]
    assert violations(dump(), clock.now_ms) == []


async def test_an_open_reply_survives_a_retry(store: Store, clock: Clock, dump: Dump) -> None:
    """The next attempt completes what the one before opened."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=0))
    first = await begin(store, retry=policy)
    opened = [reply("say:1", "", open=True)]
    await store.sessions.turn(first.id, first.lease, opened, None)
    await store.executions.fail(first.id, first.lease, Failure(type="E", message=""))
    assert violations(dump(), clock.now_ms) == []
    second = await claim_one(store, first.id)
    again = await store.sessions.turn(second.id, second.lease, opened, None)
    done = [reply("say:1:end", "hello", number=again.numbers[0])]
    await store.sessions.turn(second.id, second.lease, done, None)
    assert await lines(store, session_of(first)) == ["> hi", "< hello"]


async def test_the_next_turn_has_losses_of_its_own(store: Store, clock: Clock) -> None:
    """However many workers a long conversation has lost."""
    first = await begin(store, max_reclaims=1)
    for n in range(1, 4):
        await clock.advance_and_tick(30_000)
        claim = await claim_one(store, first.id)
        await turn(store, claim, wait=f"receive:{n}")
        await deliver(store, str(n))
        claim = await claim_one(store, first.id)
    await clock.advance_and_tick(30_000)
    claim = await claim_one(store, first.id)
    await clock.advance_and_tick(30_000)
    assert await state_of(store, first.id) is State.FAILED


async def test_readers_are_told_of_replies(store: Store, mailbox: Mailbox) -> None:
    """Whoever listens hears of them, and of the end of the turn."""
    claim = await begin(store)
    session_id = session_of(claim)
    await store.sessions.read(session_id, process=mailbox.process)
    await turn(store, claim, "one")
    await turn(store, claim, wait="receive:1")
    assert await mailbox.wait(2) == [f"session {session_id}"] * 2


async def test_a_parked_session_is_not_handed_out(store: Store) -> None:
    """There is nothing to do until something comes."""
    claim = await park(store)
    assert await claim_in(store, store.tag_of(claim.id)) == []
    assert msgspec.json.decode(claim.input)["messages"][0]["number"] == 1
