"""hf_keyring_install."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump
from tests.support.waits import record_calls

A, B = b"a" * 32, b"b" * 32


async def test_the_first_key_is_fresh(store: Store, dump: Dump) -> None:
    """The ring is empty before."""
    assert await store.keyrings.install("k1", A) == ("fresh", "k1")
    ring = await store.keyrings.read()
    assert (ring.current, ring.previous, list(ring.keys)) == ("k1", None, ["k1"])
    assert (ring.keys["k1"].secret, ring.keys["k1"].until_ms) == (A, None)
    assert violations(dump()) == []


async def test_the_same_key_matches(store: Store, dump: Dump) -> None:
    """At the next boot, and when a reply was lost."""
    calls = record_calls(store)
    await store.keyrings.install("k1", A)
    before = dump()
    assert await calls.again() == [b"match", b"k1"]
    assert await store.keyrings.install("k1", A) == ("match", "k1")
    assert dump() == before


async def test_another_key_is_not_taken(store: Store, clock: Clock, dump: Dump) -> None:
    """Another kid or another secret: what is there is kept. So is it for a retired key."""
    await store.keyrings.install("k1", A)
    await store.keyrings.rotate("k2", B, 1_000)
    before = dump()
    for kid, secret in (("k2", A), ("k3", B), ("k1", A)):
        assert await store.keyrings.install(kid, secret) == ("mismatch", "k2")
    assert dump() == before


async def test_a_torn_ring_is_repaired(store: Store, dump: Dump) -> None:
    """The current key has no secret: nothing can be signed, so another takes its place."""
    await store.keyrings.install("k1", A)
    await store.client.call(["HDEL", f"{store.global_tag}:keyring", "secret:k1"])
    assert await store.keyrings.install("k2", B) == ("repaired", "k2")
    assert (await store.keyrings.read()).current == "k2"
    assert violations(dump()) == []
    assert await store.keyrings.install("k2", B) == ("match", "k2")


async def test_a_ring_without_a_current_key_is_repaired(store: Store, dump: Dump) -> None:
    """Retired keys are there, so it is not a fresh one; they stay good until their end."""
    await store.keyrings.install("k1", A)
    await store.keyrings.rotate("k2", B, 1_000)
    ring = f"{store.global_tag}:keyring"
    await store.client.call(["HDEL", ring, "current", "secret:k2"])
    assert await store.keyrings.install("k3", B) == ("repaired", "k3")
    assert sorted((await store.keyrings.read()).keys) == ["k1", "k3"]
    assert violations(dump()) == []


async def test_a_retired_key_that_becomes_the_current_one_has_no_end(store: Store) -> None:
    """Nothing says when the current key ends."""
    await store.keyrings.install("k1", A)
    await store.keyrings.rotate("k2", B, 1_000)
    ring = f"{store.global_tag}:keyring"
    await store.client.call(["HDEL", ring, "current", "secret:k2"])
    assert await store.keyrings.install("k1", A) == ("repaired", "k1")
    assert (await store.keyrings.read()).keys["k1"].until_ms is None
