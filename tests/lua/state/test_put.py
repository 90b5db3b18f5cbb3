"""hf_state_put."""

from __future__ import annotations

import asyncio

from holdfast.errors import StateFull, VersionConflict
from holdfast.model.pack_states import Entry, StateScope
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused

SCOPE = StateScope(env="e", tenant="t", pack="p")
FULL = {"scope": SCOPE.stored, "names": 10_000, "bytes": 16 << 20}


async def put(
    store: Store,
    name: str,
    value: bytes = b"1",
    *,
    expected: int | None = None,
    ttl_ms: int | None = None,
    scope: StateScope = SCOPE,
) -> int:
    """Write a value."""
    return await store.states.put(scope, name, value, expected=expected, ttl_ms=ttl_ms)


async def test_a_version_never_repeats(store: Store) -> None:
    """Each change has a higher version, also after a removal."""
    first = await put(store, "a")
    second = await put(store, "a", b"2")
    await store.states.remove(SCOPE, "a", expected=None)
    third = await put(store, "a", b"3")
    assert first < second < third
    assert await store.states.get(SCOPE, ["a"]) == [Entry(third, b"3")]


async def test_an_expected_version_must_be_the_current_one(store: Store, dump: Dump) -> None:
    """Zero means that there is none yet; a refusal changes nothing."""
    version = await put(store, "a", expected=0)
    await refused(put(store, "a", expected=0), VersionConflict, dump, key="a")
    await refused(put(store, "a", expected=version + 1), VersionConflict, dump, key="a")
    await refused(put(store, "b", expected=version), VersionConflict, dump, key="b")
    assert await put(store, "a", b"2", expected=version) > version


async def test_a_repeated_call_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """The token tells the store that it is the same call."""
    call = ("hf_state_put", store.tag_of(SCOPE.stored), SCOPE.stored, "a", b"1", "0", "token", "")
    (first,) = await store.caller.write(*call)
    before = dump()
    (second,) = await store.caller.write(*call)
    assert second == first
    assert dump() == before


async def test_a_value_ends_to_the_millisecond(store: Store, clock: Clock) -> None:
    """At the end of its time a value is gone, and its name is free again."""
    version = await put(store, "a", ttl_ms=1_500)
    await clock.advance(1_499)
    assert await store.states.get(SCOPE, ["a"]) == [Entry(version, b"1")]
    await clock.advance(1)
    assert await store.states.get(SCOPE, ["a"]) == [None]
    assert await put(store, "a", b"2", expected=0) > version
    await clock.advance(100_000)
    assert (await store.states.get(SCOPE, ["a"]))[0] is not None


async def test_a_value_without_an_end_takes_none_from_the_one_before(
    store: Store, clock: Clock
) -> None:
    """When other names are written after that time, it is still there."""
    await put(store, "a", ttl_ms=1_000)
    version = await put(store, "a", b"2")
    await clock.advance(1_000)
    await put(store, "b")
    assert await store.states.get(SCOPE, ["a"]) == [Entry(version, b"2")]


async def test_names_of_other_scopes_are_others(store: Store) -> None:
    """Env, tenant and pack each separate values."""
    await put(store, "a")
    for env, tenant, pack in (("x", "t", "p"), ("e", "x", "p"), ("e", "t", "x")):
        other = StateScope(env=env, tenant=tenant, pack=pack)
        assert await store.states.get(other, ["a"]) == [None]


async def test_bytes_are_bounded_and_expired_values_make_room(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A scope holds 16 MiB; values whose time is over do not count."""
    large = b"x" * 4_000_000
    for number in range(4):
        await put(store, f"n{number}", large, ttl_ms=1_000)
    await refused(put(store, "more", large), StateFull, dump, **FULL)
    meta = f"{store.tag_of(SCOPE.stored)}:state_meta:{SCOPE.stored}"
    rest = (16 << 20) - int(await store.client.call(["HGET", meta, "bytes"]))
    await refused(put(store, "rest", b"x" * (rest + 1)), StateFull, dump, **FULL)
    await put(store, "rest", b"x" * rest)
    await store.states.remove(SCOPE, "rest", expected=None)
    assert await put(store, "n1", large, ttl_ms=1_000) > 0
    await clock.advance(1_000)
    await put(store, "more", large)
    await refused(put(store, "again", large * 4), StateFull, dump, **FULL)
    for number in range(3):
        await put(store, f"n{number}", large)


async def test_names_are_bounded(store: Store, dump: Dump) -> None:
    """A scope holds 10,000 names; one that exists can still be written."""
    for begin in range(0, 10_000, 500):
        await asyncio.gather(*(put(store, f"n{number}") for number in range(begin, begin + 500)))
    await refused(put(store, "more"), StateFull, dump, **FULL)
    assert await put(store, "n1", b"2") > 0
