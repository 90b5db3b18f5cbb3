"""hf_session_receipt."""

from __future__ import annotations

from holdfast.errors import ReplyNotFound, SessionNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.lua.session.test_settle import deliveries, settle, take
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused
from tests.support.sessions import KIND, begin, entries, session_of, turn

OURS = ("local", "default", KIND)


async def sent(store: Store, *texts: str) -> str:
    """Reply with texts that a provider took; returns the session."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, *texts)
    await take(store, session_id, "f0")
    for number in range(2, 2 + len(texts)):
        await settle(store, session_id, "f0", number, "sent", lease_ms=0)
    return session_id


async def report(store: Store, session_id: str, number: int, state: str, resent: int = 0) -> bool:
    return await store.sessions.receipt(session_id, number, state, "why", OURS, resent=resent)


async def send_again(store: Store, session_id: str, fence: str) -> None:
    """Send the reply 2 again, and a provider takes it."""
    await store.sessions.resend(session_id, 2)
    await take(store, session_id, fence)
    await settle(store, session_id, fence, 2, "sent")


async def receipts(store: Store, session_id: str) -> list[str | None]:
    found = await entries(store, session_id)
    return [entry.receipt for entry in found if entry.direction == "out"]


async def test_reports_only_go_forward(store: Store, clock: Clock, dump: Dump) -> None:
    """They may come repeated, and in any order."""
    session_id = await sent(store, "one", "two")
    assert await receipts(store, session_id) == [None, None]
    assert await report(store, session_id, 2, "read")
    before = dump()
    for state in ("delivered", "read", "failed"):
        assert not await report(store, session_id, 2, state)
    assert dump() == before
    assert await receipts(store, session_id) == ["read", None]
    assert await deliveries(store, session_id) == ["sent", "sent"]
    assert violations(dump(), clock.now_ms) == []


async def test_a_reply_that_failed_is_dead_and_can_be_sent_again(store: Store) -> None:
    """Its provider may report of it once more."""
    session_id = await sent(store, "one")
    assert await report(store, session_id, 2, "failed")
    assert await deliveries(store, session_id) == ["dead"]
    await store.sessions.resend(session_id, 2)
    assert await receipts(store, session_id) == [None]
    assert await take(store, session_id, "f1") == [(2, 0)]
    await settle(store, session_id, "f1", 2, "sent")
    assert await report(store, session_id, 2, "failed", resent=1)
    assert await report(store, session_id, 2, "delivered", resent=1)
    assert await deliveries(store, session_id) == ["sent"]


async def test_a_late_failure_of_an_earlier_sending_changes_nothing(
    store: Store, dump: Dump
) -> None:
    """It is about another message of the provider than the one that is on its way now."""
    session_id = await sent(store, "one")
    for resent in (0, 1):
        assert await report(store, session_id, 2, "failed", resent)
        await send_again(store, session_id, f"f{resent + 1}")
        before = dump()
        for earlier in range(resent + 1):
            assert not await report(store, session_id, 2, "failed", earlier)
        assert dump() == before
    assert await deliveries(store, session_id) == ["sent"]
    assert await report(store, session_id, 2, "failed", resent=2)
    assert await deliveries(store, session_id) == ["dead"]


async def test_a_message_that_arrives_after_all_is_delivered(store: Store) -> None:
    """The user has it, whichever sending it was."""
    session_id = await sent(store, "one")
    assert await report(store, session_id, 2, "failed")
    await send_again(store, session_id, "f1")
    assert await report(store, session_id, 2, "delivered")
    assert not await report(store, session_id, 2, "failed", resent=1)
    assert await deliveries(store, session_id) == ["sent"]


async def test_a_failure_may_be_faster_than_the_note_of_its_sending(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The reply is dead, and is not sent once more by itself."""
    session_id = await sent(store, "one")
    assert await report(store, session_id, 2, "failed")
    await store.sessions.resend(session_id, 2)
    assert await take(store, session_id, "f1") == [(2, 0)]
    assert await report(store, session_id, 2, "failed", resent=1)
    assert violations(dump(), clock.now_ms) == []
    await settle(store, session_id, "f1", 2, "sent")
    assert await deliveries(store, session_id) == ["dead"]
    assert await take(store, session_id, "f2") == []


async def test_older_processes_do_not_say_which_sending_they_mean(store: Store) -> None:
    """What failed before is not distinguished once the reply is sent again."""
    session_id = await sent(store, "one")
    args = (store.tag_of(session_id), session_id, "2", "failed", "why", *OURS)
    assert await store.caller.write("hf_session_receipt", *args) == [b"noted"]
    await store.sessions.resend(session_id, 2)
    assert await store.caller.write("hf_session_receipt", *args) == [b"kept"]
    await take(store, session_id, "f1")
    await settle(store, session_id, "f1", 2, "sent")
    assert await store.caller.write("hf_session_receipt", *args) == [b"noted"]


async def test_a_failure_reported_again_does_not_bury_what_is_sent_again(store: Store) -> None:
    """Until it is sent, only the failure before can be meant."""
    session_id = await sent(store, "one", "two")
    for number in (2, 3):
        assert await report(store, session_id, number, "failed")
        await store.sessions.resend(session_id, number)
        assert not await report(store, session_id, number, "failed")
    assert await deliveries(store, session_id) == ["pending", "pending"]
    assert await receipts(store, session_id) == [None, None]


async def test_an_endpoint_knows_only_its_own_sessions(store: Store, dump: Dump) -> None:
    """The same for a session that does not exist, and a line that is no reply."""
    session_id = await sent(store, "one")
    for reporter in (("prod", *OURS[1:]), ("local", "other", KIND), (*OURS[:2], "other")):
        call = store.sessions.receipt(session_id, 2, "read", "", reporter, resent=0)
        await refused(call, SessionNotFound, dump, id=session_id)
    await refused(report(store, "snobody", 2, "read"), SessionNotFound, dump, id="snobody")
    for number in (1, 9):
        call = report(store, session_id, number, "read")
        await refused(call, ReplyNotFound, dump, id=session_id, number=number)
