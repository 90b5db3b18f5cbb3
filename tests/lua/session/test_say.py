"""hf_session_say."""

from __future__ import annotations

from holdfast.errors import SessionNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused
from tests.support.mailbox import Mailbox
from tests.support.sessions import begin, deliver, entries, park, session_of


async def test_a_person_replies(store: Store, clock: Clock, dump: Dump, mailbox: Mailbox) -> None:
    """The reply is in the transcript with its author, and readers are told."""
    claim = await park(store)
    session_id = session_of(claim)
    await store.sessions.read(session_id, process=mailbox.process)
    said = await store.sessions.say(session_id, "k1", "eve", b'{"text":"hello"}')
    assert (said.number, said.text, said.author, said.turn) == (2, "hello", "eve", 1)
    assert (said.direction, said.execution, said.activity) == ("out", None, None)
    assert (await entries(store, session_id))[-1] == said
    assert await mailbox.wait() == [f"session {session_id}"]
    assert violations(dump(), clock.now_ms) == []


async def test_the_same_key_says_it_once(store: Store, dump: Dump) -> None:
    """The first answer comes again, whatever is said the second time."""
    session_id = session_of(await begin(store))
    first = await store.sessions.say(session_id, "k1", "eve", b'{"text":"hello"}')
    await store.sessions.say(session_id, "k2", "eve", b'{"text":"hello"}')
    before = dump()
    assert await store.sessions.say(session_id, "k1", "bob", b'{"text":"other"}') == first
    assert dump() == before


async def test_keys_are_no_ids_of_messages(store: Store, clock: Clock, dump: Dump) -> None:
    """A user's message with the same id is another thing."""
    session_id = session_of(await begin(store))
    await store.sessions.say(session_id, "k1", "eve", b"{}")
    delivered = await deliver(store, id="k1")
    assert (delivered.number, delivered.duplicate) == (3, False)
    assert violations(dump(), clock.now_ms) == []


async def test_it_is_sent_like_others(store: Store, clock: Clock, dump: Dump) -> None:
    """A sender delivers it."""
    claim = await begin(store, sender="web")
    await store.sessions.say(session_of(claim), "k1", "eve", b'{"text":"hello"}')
    tag = store.tag_of(claim.id)
    (handed,), _ = await store.sessions.outgoing(tag, "f", ["web"], lease_ms=1_000, limit=1)
    assert [reply.number for reply in handed.replies] == [2]
    assert violations(dump(), clock.now_ms) == []


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """Nobody hears it."""
    call = store.sessions.say("snobody", "k", "eve", b"{}")
    await refused(call, SessionNotFound, dump, id="snobody")
