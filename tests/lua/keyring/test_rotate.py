"""hf_keyring_rotate."""

from __future__ import annotations

import pytest

from holdfast.errors import RotationConflict
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused
from tests.support.waits import record_calls

A, B, C = (letter * 32 for letter in (b"a", b"b", b"c"))


async def test_a_new_key_signs_and_the_old_one_stays_for_its_grace(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Its end is known from then on."""
    await store.keyrings.install("k1", A)
    assert await store.keyrings.rotate("k2", B, 1_000) == ("k2", "k1")
    ring = await store.keyrings.read()
    assert (ring.current, ring.previous) == ("k2", "k1")
    assert {kid: key.until_ms for kid, key in ring.keys.items()} == {
        "k1": clock.now_ms + 1_000,
        "k2": None,
    }
    assert violations(dump()) == []


async def test_an_empty_ring_gets_its_first_key(store: Store) -> None:
    """There is none before."""
    assert await store.keyrings.rotate("k1", A, 1_000) == ("k1", None)


async def test_every_key_is_kept_until_its_own_end(store: Store, clock: Clock) -> None:
    """Rapid rotation evicts nothing that is still good."""
    await store.keyrings.install("k1", A)
    await store.keyrings.rotate("k2", B, 5_000)
    await store.keyrings.rotate("k3", C, 1_000)
    ring = await store.keyrings.read()
    assert {kid: key.until_ms for kid, key in ring.keys.items()} == {
        "k1": clock.now_ms + 5_000,
        "k2": clock.now_ms + 1_000,
        "k3": None,
    }


async def test_keys_past_their_end_are_collected(store: Store, clock: Clock, dump: Dump) -> None:
    """By the next rotation, from the millisecond of the end on."""
    await store.keyrings.install("k1", A)
    await store.keyrings.rotate("k2", B, 1_000)
    await clock.advance(999)
    await store.keyrings.rotate("k3", C, 1_000)
    assert sorted((await store.keyrings.read()).keys) == ["k1", "k2", "k3"]
    await clock.advance(1)
    await store.keyrings.rotate("k4", A, 1_000)
    assert sorted((await store.keyrings.read()).keys) == ["k2", "k3", "k4"]
    assert violations(dump()) == []


async def test_a_repeated_rotation_gets_the_same_answer(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The grace is not counted from the repetition."""
    calls = record_calls(store)
    await store.keyrings.install("k1", A)
    await store.keyrings.rotate("k2", B, 1_000)
    await clock.advance(500)
    before = dump()
    assert await calls.again() == [b"k2", b"k1"]
    assert await store.keyrings.rotate("k2", B, 9_000) == ("k2", "k1")
    assert dump() == before


@pytest.mark.parametrize(("kid", "secret"), [("k2", A), ("k1", A), ("k1", C)])
async def test_a_kid_is_used_once(store: Store, dump: Dump, kid: str, secret: bytes) -> None:
    """With another secret, or a retired one: what comes late would undo the newer rotation."""
    await store.keyrings.install("k1", A)
    await store.keyrings.rotate("k2", B, 1_000)
    await refused(store.keyrings.rotate(kid, secret, 1_000), RotationConflict, dump, kid=kid)


async def test_no_grace_ends_the_old_key_at_once(store: Store, clock: Clock) -> None:
    """For a key that leaked."""
    await store.keyrings.install("k1", A)
    await store.keyrings.rotate("k2", B, 0)
    ring = await store.keyrings.read()
    assert ring.keys["k1"].until_ms == clock.now_ms
