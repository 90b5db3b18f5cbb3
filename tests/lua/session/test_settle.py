"""hf_session_settle."""

from __future__ import annotations

from typing import Any

from holdfast.errors import ReplyNotFound, SessionNotFound, StaleLease
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused
from tests.support.mailbox import Mailbox
from tests.support.sessions import begin, deliver, entries, reply, session_of, turn
from tests.support.waits import record_calls

TAKING: dict[str, Any] = {"lease_ms": 60_000, "limit": 10}


async def take(store: Store, session_id: str, fence: str) -> list[tuple[int, int]]:
    """Take what is to be sent of a session: numbers and tries."""
    tag = store.tag_of(session_id)
    handed, _ = await store.sessions.outgoing(tag, fence, ["web"], **TAKING)
    return [(one.number, one.tries) for outgoing in handed for one in outgoing.replies]


async def settle(
    store: Store, session_id: str, fence: str, number: int, outcome: str, **fields: Any
) -> None:
    """Settle with an hour of lease left."""
    await store.sessions.settle(
        session_id, fence, number, outcome, **{"lease_ms": 60_000, **fields}
    )


async def deliveries(store: Store, session_id: str) -> list[str | None]:
    """What became of the replies."""
    found = await entries(store, session_id)
    return [entry.delivery for entry in found if entry.direction == "out"]


async def test_replies_are_settled_in_order(store: Store, clock: Clock, dump: Dump) -> None:
    """When all are, nothing is left to take."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one", "two")
    assert await take(store, session_id, "f1") == [(2, 0), (3, 0)]
    assert await deliveries(store, session_id) == ["pending", "pending"]
    await settle(store, session_id, "f1", 2, "sent")
    assert await deliveries(store, session_id) == ["sent", "pending"]
    assert violations(dump(), clock.now_ms) == []
    await settle(store, session_id, "f1", 3, "sent")
    assert await deliveries(store, session_id) == ["sent", "sent"]
    assert await take(store, session_id, "f2") == []
    await turn(store, claim, "three")
    assert await take(store, session_id, "f3") == [(4, 0)]
    assert violations(dump(), clock.now_ms) == []


async def test_a_retry_waits(store: Store, clock: Clock, dump: Dump) -> None:
    """The reply is handed out again after the delay, and none before it."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one", "two")
    await take(store, session_id, "f1")
    await settle(store, session_id, "f1", 2, "retry", delay_ms=5_000)
    await clock.advance(4_999)
    assert await take(store, session_id, "f2") == []
    await clock.advance(1)
    assert await take(store, session_id, "f3") == [(2, 1), (3, 0)]
    assert violations(dump(), clock.now_ms) == []


async def test_a_dead_reply_does_not_hold_up_the_next(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It is kept with what was wrong."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one", "two")
    await take(store, session_id, "f1")
    await settle(store, session_id, "f1", 2, "dead", error="no such user")
    await settle(store, session_id, "f1", 3, "sent")
    assert await deliveries(store, session_id) == ["dead", "sent"]
    assert await take(store, session_id, "f2") == []
    assert violations(dump(), clock.now_ms) == []


async def test_a_repeated_settle_changes_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """Whatever was said, it is said once."""
    calls = record_calls(store)
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one", "two", "three")
    fences = iter(("f1", "f2", "f3"))
    for number, outcome in ((2, "retry"), (2, "dead"), (3, "sent")):
        fence = next(fences)
        await take(store, session_id, fence)
        await settle(store, session_id, fence, number, outcome, delay_ms=0, lease_ms=0)
        before = dump()
        assert await calls.again() == []
        assert dump() == before
    assert await take(store, session_id, "f4") == [(4, 0)]
    assert violations(dump(), clock.now_ms) == []


async def test_only_the_last_hand_out_settles(store: Store, clock: Clock, dump: Dump) -> None:
    """A sender that was too slow changes nothing."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one")
    await take(store, session_id, "f1")
    await clock.advance(60_000)
    assert await take(store, session_id, "f2") == [(2, 0)]
    for outcome in ("sent", "retry", "dead"):
        call = settle(store, session_id, "f1", 2, outcome, delay_ms=1)
        await refused(call, StaleLease, dump, id=session_id, state="sent by another")
    await settle(store, session_id, "f2", 2, "sent")


async def test_replies_that_were_written_meanwhile_follow(store: Store, clock: Clock) -> None:
    """After the last reply of a hand-out, the next may be taken at once."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one")
    await take(store, session_id, "f1")
    await turn(store, claim, "two")
    assert await take(store, session_id, "f2") == []
    await settle(store, session_id, "f1", 2, "sent", lease_ms=0)
    assert await take(store, session_id, "f3") == [(3, 0)]


async def test_a_streamed_reply_is_sent_when_it_is_complete(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Until then nothing after it is sent either; one that was cut short is not sent."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    opened = [reply("say:1", "", open=True), reply("say:2", "two"), reply("s3", "", open=True)]
    await store.sessions.turn(claim.id, claim.lease, opened, None)
    assert await take(store, session_id, "f1") == []
    done = [reply("say:1:end", "one", number=2)]
    await store.sessions.turn(claim.id, claim.lease, done, None)
    assert await take(store, session_id, "f2") == [(2, 0), (3, 0)]
    for number in (2, 3):
        await settle(store, session_id, "f2", number, "sent", lease_ms=0)
    await turn(store, claim, "four")
    assert await take(store, session_id, "f3") == []
    await store.executions.complete(claim.id, claim.lease, b"null")
    assert await take(store, session_id, "f4") == [(5, 0)]
    assert violations(dump(), clock.now_ms) == []


async def test_readers_are_told_of_what_was_sent(store: Store, mailbox: Mailbox) -> None:
    """Whoever shows the transcript shows it."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one")
    await take(store, session_id, "f1")
    await store.sessions.read(session_id, process=mailbox.process)
    await settle(store, session_id, "f1", 2, "sent")
    assert await mailbox.wait() == [f"session {session_id}"]


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """There is nothing to settle."""
    await refused(settle(store, "snobody", "f", 1, "sent"), SessionNotFound, dump, id="snobody")


async def test_an_open_reply_that_is_dropped_no_longer_holds_up_the_others(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It never became complete, and its time in the transcript is over."""
    await store.lanes.set_retention("default", {"session": 60_000})
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await store.sessions.turn(claim.id, claim.lease, [reply("say:1", "", open=True)], None)
    await clock.advance(60_001)
    await store.sessions.handover(session_id, "eve")
    await store.sessions.say(session_id, "k1", "eve", b'{"text":"later"}')
    assert await take(store, session_id, "f1") == []
    for number in range(12):
        await deliver(store, f"message {number}", sender="web")
    assert await take(store, session_id, "f2") == [(4, 0)]
    assert violations(dump(), clock.now_ms) == []


async def test_a_reply_that_must_wait_loses_no_try(store: Store, clock: Clock, dump: Dump) -> None:
    """For a day; then it is dead, as nobody waits for it any more."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one", "two")
    for fence, wait_ms in (("f1", 5_000), ("f2", 86_395_000), ("f3", 5_000)):
        assert await take(store, session_id, fence) == [(2, 0), (3, 0)]
        await settle(store, session_id, fence, 2, "later", delay_ms=5_000)
        await settle(store, session_id, fence, 2, "later", delay_ms=5_000)
        assert await take(store, session_id, "none") == []
        await clock.advance(wait_ms)
    assert await take(store, session_id, "f4") == [(2, 0), (3, 0)]
    await settle(store, session_id, "f4", 2, "later", delay_ms=5_000, lease_ms=0)
    assert await deliveries(store, session_id) == ["dead", "pending"]
    assert await take(store, session_id, "f5") == [(3, 0)]
    assert violations(dump(), clock.now_ms) == []


async def test_parts_that_were_sent_are_remembered(store: Store, clock: Clock, dump: Dump) -> None:
    """Of the one reply that they belong to, until it is settled; the hand-out holds longer."""

    async def parts(fence: str) -> list[tuple[int, int]]:
        handed, _ = await store.sessions.outgoing(
            store.tag_of(session_id), fence, ["web"], **TAKING
        )
        return [(one.number, one.parts) for outgoing in handed for one in outgoing.replies]

    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one", "two")
    assert await parts("f1") == [(2, 0), (3, 0)]
    await clock.advance(50_000)
    await settle(store, session_id, "f1", 2, "part", delay_ms=3)
    await clock.advance(50_000)
    assert await parts("f2") == []
    await settle(store, session_id, "f1", 2, "retry", delay_ms=1)
    await clock.advance(1)
    assert await parts("f3") == [(2, 3), (3, 0)]
    call = settle(store, session_id, "f1", 2, "part", delay_ms=4)
    await refused(call, StaleLease, dump, id=session_id, state="sent by another")
    await settle(store, session_id, "f3", 2, "sent", lease_ms=0)
    assert await parts("f4") == [(3, 0)]


async def test_a_reply_that_is_gone_is_not_dead(store: Store, clock: Clock, dump: Dump) -> None:
    """The transcript was trimmed while it was being sent, so nobody can send it again."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, "one")
    assert await take(store, session_id, "f1") == [(2, 0)]
    for n in range(1_005):
        await store.sessions.say(session_id, f"k{n}", "eve", b"{}")
    await settle(store, session_id, "f1", 2, "dead", error="no such user")
    assert violations(dump(), clock.now_ms) == []
    call = store.sessions.resend(session_id, 2)
    await refused(call, ReplyNotFound, dump, id=session_id, number=2)
