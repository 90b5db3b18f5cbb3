"""hf_session_values."""

from __future__ import annotations

from holdfast.errors import SessionNotFound
from holdfast.model.sessions import StateValue
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.lua.session.test_state import put
from tests.support.lifecycle import Dump, refused
from tests.support.sessions import begin, session_of


async def test_the_whole_state(store: Store, clock: Clock) -> None:
    """Without what was removed or has expired."""
    claim = await begin(store)
    assert await store.sessions.values(session_of(claim)) == []
    await put(store, claim, "s1", b"1", "b")
    await put(store, claim, "s2", b"2", "a")
    await put(store, claim, "s3", b"3", "a")
    await put(store, claim, "s4", b"4", "short", ttl_ms=1_000)
    await put(store, claim, "s5", b"5", "gone")
    await store.sessions.state(claim.id, claim.lease, "s6", "gone", op="remove")
    await clock.advance(1_000)
    assert await store.sessions.values(session_of(claim)) == [
        ("a", StateValue(value=b"3", version=2)),
        ("b", StateValue(value=b"1", version=1)),
    ]


async def test_an_unknown_session(store: Store, dump: Dump) -> None:
    """It has no state."""
    await refused(store.sessions.values("snobody"), SessionNotFound, dump, id="snobody")
