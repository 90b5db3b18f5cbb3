"""hf_state_get."""

from __future__ import annotations

from holdfast.model.pack_states import Entry, StateScope
from holdfast.store.store import Store
from tests.support.lifecycle import Dump

SCOPE = StateScope(env="e", tenant="t", pack="p")


async def test_names_are_read_together(store: Store, dump: Dump) -> None:
    """Each name has its value or none, in order; a read changes nothing."""
    version = await store.states.put(SCOPE, "a", b"\x00 1", expected=None, ttl_ms=None)
    before = dump()
    assert await store.states.get(SCOPE, ["b", "a"]) == [None, Entry(version, b"\x00 1")]
    assert await store.states.get(SCOPE, []) == []
    assert dump() == before
