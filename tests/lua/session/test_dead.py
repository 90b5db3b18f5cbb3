"""hf_session_dead."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.lua.session.test_receipt import report, sent
from tests.lua.session.test_settle import settle, take
from tests.support.invariants import violations
from tests.support.lifecycle import Dump
from tests.support.sessions import begin, key_of, session_of, turn


async def bury(store: Store, user: str, *texts: str) -> str:
    """Reply to a user with texts that no receiver takes; returns the session."""
    claim = await begin(store, user=user, sender="web")
    session_id = session_of(claim)
    await turn(store, claim, *texts)
    await take(store, session_id, f"f-{user}")
    for number in range(2, 2 + len(texts)):
        await settle(store, session_id, f"f-{user}", number, "dead", error=f"no {number}")
    return session_id


async def listed(store: Store, tenant: str | None = None) -> list[tuple[str, int, str]]:
    """The user, the number and the problem of each."""
    found = await store.dead_replies.page(tenant=tenant, before=None, limit=100)
    return [(one.key.user, one.number, one.problem) for one in found]


async def test_the_last_to_die_comes_first(store: Store, clock: Clock, dump: Dump) -> None:
    """With the key of its session, and why."""
    assert await listed(store) == []
    await bury(store, "ann", "one", "two")
    await clock.advance(1)
    session_id = await bury(store, "bob", "one")
    assert await listed(store) == [
        ("bob", 2, "no 2"),
        ("ann", 3, "no 3"),
        ("ann", 2, "no 2"),
    ]
    assert await listed(store, "default") == await listed(store)
    assert await listed(store, "theirs") == []
    (first, *_) = await store.dead_replies.page(tenant=None, before=None, limit=1)
    assert (first.session, first.key) == (session_id, key_of("bob"))
    assert violations(dump(), clock.now_ms) == []


async def test_pages_continue_where_they_ended(store: Store) -> None:
    """Also within a moment, and over several partitions."""
    for user in ("ann", "bob", "eve"):
        await bury(store, user, "one", "two")
    whole = await store.dead_replies.page(tenant=None, before=None, limit=100)
    paged, before = [], None
    while page := await store.dead_replies.page(tenant=None, before=before, limit=2):
        paged += page
        last = page[-1]
        before = (int(last.died_at.timestamp() * 1000), f"{last.session}:{last.number}")
    assert len(whole) == 6
    assert paged == whole


async def test_what_is_sent_again_or_gone_is_not_listed(
    store: Store, clock: Clock, dump: Dump
) -> None:
    session_id = await bury(store, "ann", "one", "two")
    await store.sessions.resend(session_id, 2)
    assert await listed(store) == [("ann", 3, "no 3")]
    assert violations(dump(), clock.now_ms) == []
    await store.sessions.erase(session_id)
    assert await listed(store) == []
    assert violations(dump(), clock.now_ms) == []


async def test_a_report_of_the_provider_counts(store: Store, clock: Clock, dump: Dump) -> None:
    """One that arrives after all is not dead any more."""
    session_id = await sent(store, "one")
    await report(store, session_id, 2, "failed")
    assert [problem for _, _, problem in await listed(store)] == ["why"]
    assert violations(dump(), clock.now_ms) == []
    await report(store, session_id, 2, "delivered")
    assert await listed(store) == []
    assert violations(dump(), clock.now_ms) == []
