"""hf_admin_touch."""

from __future__ import annotations

from holdfast.store.store import Store


async def test_it_writes_a_key_that_expires(store: Store) -> None:
    """Each time, so that a wait for replicas covers all that was written before."""
    tag = store.tag_of("a")
    for _ in range(2):
        assert await store.caller.write("hf_admin_touch", tag) == []
    assert 0 < await store.client.call(("PTTL", f"{tag}:ack")) <= 60_000
