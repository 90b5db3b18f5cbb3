"""hf_state_remove."""

from __future__ import annotations

import pytest

from holdfast.errors import VersionConflict
from holdfast.model.pack_states import StateScope
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused

SCOPE = StateScope(env="e", tenant="t", pack="p")


async def test_a_value_is_removed_once(store: Store) -> None:
    """Another removal finds nothing, and that is fine."""
    version = await store.states.put(SCOPE, "a", b"1", expected=None, ttl_ms=None)
    assert await store.states.remove(SCOPE, "a", expected=version)
    assert not await store.states.remove(SCOPE, "a", expected=version)
    assert await store.states.get(SCOPE, ["a"]) == [None]


@pytest.mark.parametrize("is_expected", [True, False])
async def test_a_repeated_call_leaves_what_was_written_since(
    store: Store, dump: Dump, *, is_expected: bool
) -> None:
    """Its reply was lost: it gets the same answer, and another caller's value stays."""
    version = await store.states.put(SCOPE, "a", b"1", expected=None, ttl_ms=None)
    expected = str(version) if is_expected else ""
    call = ("hf_state_remove", store.tag_of(SCOPE.stored), SCOPE.stored, "a", expected, "token")
    assert await store.caller.write(*call) == [b"removed"]
    await store.states.put(SCOPE, "a", b"2", expected=0, ttl_ms=None)
    before = dump()
    assert await store.caller.write(*call) == [b"removed"]
    assert dump() == before


async def test_each_removal_is_a_call_of_its_own(store: Store) -> None:
    """The store layer gives each a token; processes of older versions send none."""
    for _ in range(2):
        await store.states.put(SCOPE, "a", b"1", expected=None, ttl_ms=None)
        assert await store.states.remove(SCOPE, "a", expected=None)
    await store.states.put(SCOPE, "a", b"1", expected=None, ttl_ms=None)
    call = ("hf_state_remove", store.tag_of(SCOPE.stored), SCOPE.stored, "a", "")
    assert await store.caller.write(*call) == [b"removed"]
    assert await store.caller.write(*call) == [b"absent"]


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
