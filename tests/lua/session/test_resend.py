"""hf_session_resend."""

from __future__ import annotations

from holdfast.errors import ReplyNotFound, SessionNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.lua.session.test_settle import deliveries, settle, take
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused
from tests.support.sessions import begin, session_of, turn
from tests.support.waits import record_calls


async def bury(store: Store, *texts: str) -> str:
    """Reply with texts that no receiver takes; returns the session."""
    claim = await begin(store, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, *texts)
    await take(store, session_id, "f0")
    for number in range(2, 2 + len(texts)):
        await settle(store, session_id, "f0", number, "dead", error="no", lease_ms=0)
    return session_id


async def test_a_dead_reply_is_sent_again(store: Store, clock: Clock, dump: Dump) -> None:
    """Until it was, it is pending."""
    session_id = await bury(store, "one", "two")
    await store.sessions.resend(session_id, 2)
    assert await deliveries(store, session_id) == ["pending", "dead"]
    assert violations(dump(), clock.now_ms) == []
    assert await take(store, session_id, "f1") == [(2, 0)]
    await settle(store, session_id, "f1", 2, "sent")
    assert await deliveries(store, session_id) == ["sent", "dead"]
    assert await take(store, session_id, "f2") == []
    assert violations(dump(), clock.now_ms) == []


async def test_several_are_sent_one_after_the_other(store: Store, clock: Clock, dump: Dump) -> None:
    """Before what was not sent yet; one that dies again is dead again."""
    session_id = await bury(store, "one", "two")
    await store.sessions.say(session_id, "k", "eve", b"{}")
    for number in (3, 2):
        await store.sessions.resend(session_id, number)
    for fence, number, outcome in (("f1", 3, "sent"), ("f2", 2, "dead"), ("f3", 4, "sent")):
        assert await take(store, session_id, fence) == [(number, 0)]
        await settle(store, session_id, fence, number, outcome, lease_ms=0)
        assert violations(dump(), clock.now_ms) == []
    assert await deliveries(store, session_id) == ["dead", "sent", "sent"]


async def test_who_sends_now_goes_on(store: Store, clock: Clock) -> None:
    """What it sends is settled, so it is not sent twice."""
    session_id = await bury(store, "one")
    await store.sessions.say(session_id, "k", "eve", b"{}")
    assert await take(store, session_id, "f1") == [(3, 0)]
    await store.sessions.resend(session_id, 2)
    await settle(store, session_id, "f1", 3, "sent", lease_ms=0)
    assert await take(store, session_id, "f2") == [(2, 0)]


async def test_one_that_is_gone_holds_up_nothing(store: Store, clock: Clock, dump: Dump) -> None:
    """The transcript was trimmed before it was sent."""
    session_id = await bury(store, "one")
    await store.sessions.resend(session_id, 2)
    for n in range(1_005):
        await store.sessions.say(session_id, f"k{n}", "eve", b"{}")
    assert violations(dump(), clock.now_ms) == []
    assert (await take(store, session_id, "f1"))[0] == (8, 0)


async def test_only_a_dead_reply(store: Store, dump: Dump) -> None:
    """One that was sent, waits, or never was, is refused."""
    session_id = await bury(store, "one")
    for number in (1, 3):
        call = store.sessions.resend(session_id, number)
        await refused(call, ReplyNotFound, dump, id=session_id, number=number)


async def test_a_repeated_call_gets_the_first_answer(store: Store, dump: Dump) -> None:
    """While the reply waits, and after it was sent: it is sent once."""
    session_id = await bury(store, "one")
    calls = record_calls(store)
    await store.sessions.resend(session_id, 2)
    before = dump()
    await calls.again()
    assert dump() == before
    await take(store, session_id, "f1")
    await settle(store, session_id, "f1", 2, "sent")
    before = dump()
    await store.sessions.resend(session_id, 2)
    assert dump() == before
    assert await take(store, session_id, "f2") == []


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """There is nothing to send."""
    await refused(store.sessions.resend("snobody", 2), SessionNotFound, dump, id="snobody")


async def test_a_reply_that_is_sent_again_late_may_wait_again(store: Store, clock: Clock) -> None:
    """The day for which it may wait begins when it is sent again."""
    session_id = await bury(store, "one")
    await clock.advance(2 * 86_400_000)
    await store.sessions.resend(session_id, 2)
    assert await take(store, session_id, "f1") == [(2, 0)]
    await settle(store, session_id, "f1", 2, "later", delay_ms=5_000)
    assert await deliveries(store, session_id) == ["pending"]
    await clock.advance(86_400_001)
    assert await take(store, session_id, "f2") == [(2, 0)]
    await settle(store, session_id, "f2", 2, "later", delay_ms=5_000)
    assert await deliveries(store, session_id) == ["dead"]
