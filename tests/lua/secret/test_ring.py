"""hf_secret_ring."""

from __future__ import annotations

from holdfast.model.secrets import SealingKey
from holdfast.store.store import Store


async def test_the_ring_has_every_key(store: Store) -> None:
    """It is empty before the first one."""
    ring = await store.secrets.ring()
    assert (ring.current, dict(ring.keys)) == ("", {})
    keys = [SealingKey(f"k{number}", b"%d" % number * 32) for number in range(3)]
    current = ""
    for key in keys:
        current = await store.secrets.rotate(key, current)
    ring = await store.secrets.ring()
    assert (ring.current, dict(ring.keys)) == ("k2", {key.kid: key for key in keys})
