"""hf_session_outgoing."""

from __future__ import annotations

from typing import Any

from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one
from tests.support.sessions import begin, deliver, key_of, reply, session_of, turn

TAKING: dict[str, Any] = {"lease_ms": 60_000, "limit": 10}


async def test_a_session_is_handed_to_one_process_at_a_time(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The next gets it when the lease of the first is over."""
    claim = await begin(store, sender="web")
    await turn(store, claim, "one", "two")
    tag = store.tag_of(claim.id)
    take = store.sessions.outgoing
    (handed,), sleep_ms = await take(tag, "f1", ["web"], **TAKING)
    assert (handed.session, handed.fence, handed.sender) == (session_of(claim), "f1", "web")
    one, two = handed.replies
    assert (one.value, one.key, one.number) == ({"text": "one"}, key_of(), 2)
    assert one.idempotency_key == f"{session_of(claim)}:2"
    assert (two.value, two.idempotency_key) == ({"text": "two"}, f"{session_of(claim)}:3")
    assert sleep_ms == 60_000
    await clock.advance(59_999)
    assert await take(tag, "f2", ["web"], **TAKING) == ([], 1)
    await clock.advance(1)
    (again,), _ = await take(tag, "f2", ["web"], **TAKING)
    assert (again.fence, [reply.number for reply in again.replies]) == ("f2", [2, 3])
    assert violations(dump(), clock.now_ms) == []


async def test_each_sender_gets_its_own(store: Store) -> None:
    """One process may send for several."""
    claims = [
        await begin(store, user=user, sender=sender)
        for user, sender in (("ann", "web"), ("bob", "sms"))
    ]
    for claim in claims:
        await turn(store, claim, "one")
    for sender, claim in zip(("web", "sms"), claims, strict=True):
        tag = store.tag_of(claim.id)
        assert await store.sessions.outgoing(tag, "f0", ["mail"], **TAKING) == ([], None)
        (handed,), _ = await store.sessions.outgoing(tag, "f1", ["mail", sender], **TAKING)
        assert (handed.session, handed.sender) == (session_of(claim), sender)


async def test_a_hand_out_is_bounded(store: Store) -> None:
    """Twenty replies of a session, and as many sessions as were asked for."""
    claim = await begin(store, sender="web")
    await turn(store, claim, *map(str, range(30)))
    (handed,), _ = await store.sessions.outgoing(store.tag_of(claim.id), "f", ["web"], **TAKING)
    assert [reply.number for reply in handed.replies] == list(range(2, 22))


async def test_sessions_wait_for_their_turn(single_store: Store) -> None:
    """Those that a call leaves are there for the next, without sleep."""
    store = single_store
    for user in ("a", "b", "c"):
        delivered = await deliver(store, user=user, sender="web")
        assert delivered.execution is not None
        await turn(store, await claim_one(store, delivered.execution), "one")
    (tag,) = store.tags()
    options = {"lease_ms": 60_000, "limit": 2}
    first, sleep_ms = await store.sessions.outgoing(tag, "f1", ["web"], **options)
    assert (len(first), sleep_ms) == (2, 0)
    second, sleep_ms = await store.sessions.outgoing(tag, "f2", ["web"], **options)
    assert (len(second), sleep_ms) == (1, 60_000)


async def test_messages_alone_are_not_sent(store: Store, clock: Clock, dump: Dump) -> None:
    """There is nothing to send before the first reply."""
    claim = await begin(store, sender="web")
    await deliver(store, "two", sender="web")
    taken = await store.sessions.outgoing(store.tag_of(claim.id), "f", ["web"], **TAKING)
    assert taken == ([], None)
    assert violations(dump(), clock.now_ms) == []


async def test_senders_are_woken(store: Store) -> None:
    """The first reply tells them; they need not look all the time."""
    told: list[str] = []
    claim = await begin(store, sender="web")
    names = [channels.replies(tag) for tag in store.tags()]

    def on_message(channel: str, _message: str) -> None:
        told.append(channel)

    async def is_told() -> bool:
        return bool(told)

    await store.subscriptions.add(names, on_message)
    await turn(store, claim, "one")
    await wait_for(is_told)
    await store.subscriptions.remove(names, on_message)
    assert told == [channels.replies(store.tag_of(claim.id))]


async def test_a_session_that_is_gone_is_not_handed_out(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Nothing of it stays with the sender."""
    claim = await begin(store, sender="web")
    await turn(store, claim, "one")
    await store.sessions.erase(session_of(claim))
    assert violations(dump(), clock.now_ms) == []
    taken = await store.sessions.outgoing(store.tag_of(claim.id), "f", ["web"], **TAKING)
    assert taken == ([], None)


async def test_a_reply_that_is_not_complete_is_not_looked_for(store: Store) -> None:
    """Its end makes it known; until then nothing is due."""
    claim = await begin(store, sender="web")
    tag = store.tag_of(claim.id)
    await turn(store, claim, "one")
    await store.sessions.turn(claim.id, claim.lease, [reply("say:two", "", open=True)], None)
    (handed,), _ = await store.sessions.outgoing(tag, "f1", ["web"], **TAKING)
    assert [one.number for one in handed.replies] == [2]
    await store.sessions.settle(session_of(claim), "f1", 2, "sent", lease_ms=60_000)
    await turn(store, claim, "three")
    assert await store.sessions.outgoing(tag, "f2", ["web"], **TAKING) == ([], None)
