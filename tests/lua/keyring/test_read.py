"""hf_keyring_read."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import Dump


async def test_an_empty_ring(store: Store, dump: Dump) -> None:
    """Reading makes nothing."""
    before = dump()
    ring = await store.keyrings.read()
    assert (ring.current, ring.previous, dict(ring.keys)) == ("", None, {})
    assert dump() == before


async def test_all_keys_with_their_ends(store: Store, dump: Dump) -> None:
    """For those who sign and check."""
    await store.keyrings.install("b", b"1" * 32)
    await store.keyrings.rotate("a", b"2" * 32, 5_000)
    before = dump()
    ring = await store.keyrings.read()
    assert [(kid, key.secret) for kid, key in ring.keys.items()] == [
        ("a", b"2" * 32),
        ("b", b"1" * 32),
    ]
    assert (ring.current, ring.previous) == ("a", "b")
    assert dump() == before


async def test_a_torn_ring_is_shown_as_it_is(store: Store) -> None:
    """Whoever reads sees that the current key is missing."""
    await store.keyrings.install("a", b"1" * 32)
    await store.client.call(["HDEL", f"{store.global_tag}:keyring", "secret:a"])
    ring = await store.keyrings.read()
    assert (ring.current, dict(ring.keys)) == ("a", {})
