"""hf_state_remove."""

from __future__ import annotations

from holdfast.errors import VersionConflict
from holdfast.model.pack_states import StateScope
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused

SCOPE = StateScope(env="e", tenant="t", pack="p")


async def test_a_value_is_removed_once(store: Store) -> None:
    """A repeated call finds nothing, and that is fine."""
    version = await store.states.put(SCOPE, "a", b"1", expected=None, ttl_ms=None)
    assert await store.states.remove(SCOPE, "a", expected=version)
    assert not await store.states.remove(SCOPE, "a", expected=version)
    assert await store.states.get(SCOPE, ["a"]) == [None]


async def test_an_expected_version_must_be_the_current_one(store: Store, dump: Dump) -> None:
    """A value that has changed stays."""
    version = await store.states.put(SCOPE, "a", b"1", expected=None, ttl_ms=None)
    await store.states.put(SCOPE, "a", b"2", expected=None, ttl_ms=None)
    call = store.states.remove(SCOPE, "a", expected=version)
    await refused(call, VersionConflict, dump, key="a")


async def test_a_value_whose_time_is_over_is_absent(store: Store, clock: Clock) -> None:
    """It is removed all the same, and nothing of it is left to count."""
    await store.states.put(SCOPE, "a", b"1", expected=None, ttl_ms=10)
    await clock.advance(10)
    assert not await store.states.remove(SCOPE, "a", expected=None)
    assert await store.states.get(SCOPE, ["a"]) == [None]
