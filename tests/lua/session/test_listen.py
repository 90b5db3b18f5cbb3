"""hf_session_listen."""

from __future__ import annotations

from holdfast.errors import SessionNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused
from tests.support.mailbox import Mailbox
from tests.support.sessions import begin, deliver, session_of


async def test_it_reads_and_listens(
    store: Store, clock: Clock, dump: Dump, mailbox: Mailbox
) -> None:
    """The answer is that of a read; each change is told."""
    session_id = session_of(await begin(store))
    read = await store.sessions.read(session_id, limit=10)
    assert await store.sessions.read(session_id, limit=10, process=mailbox.process) == read
    assert violations(dump(), clock.now_ms) == []
    key = f"{store.tag_of(session_id)}:L:{session_id}"
    assert 0 < await store.client.call(["PTTL", key]) <= 60_000
    await deliver(store, "two")
    await deliver(store, "three")
    assert await mailbox.wait(2) == [f"session {session_id}"] * 2


async def test_who_does_not_say_so_again_is_told_no_more(
    store: Store, clock: Clock, mailbox: Mailbox
) -> None:
    """A process that died costs nothing after a minute."""
    session_id = session_of(await begin(store))
    other = Mailbox(store)
    await store.subscriptions.add(other.channels, other.on_message)
    await store.sessions.read(session_id, process=mailbox.process)
    await clock.advance(60_001)
    await store.sessions.read(session_id, process=other.process)
    await deliver(store, "two")
    assert await other.wait() == [f"session {session_id}"]
    assert mailbox.told == []
    await store.subscriptions.remove(other.channels, other.on_message)


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """There is nothing to hear."""
    call = store.sessions.read("snobody", process="p")
    await refused(call, SessionNotFound, dump, id="snobody")
