"""hf_outbox_clear."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.limits import admit, make_quota


async def test_what_has_arrived_is_taken_out_and_the_rest_stays(store: Store) -> None:
    """Clearing twice is no error."""
    await make_quota(store, max_concurrent=0)
    for name in ("a", "b", "c"):
        await admit(store, name)
    await store.quotas.set("q", None, None, 3)
    tag = store.quota_tag("q")
    entries = await store.outboxes.read(tag)
    assert len(entries) == 3
    assert await store.outboxes.clear(tag, entries[:2]) == 1
    assert await store.outboxes.clear(tag, entries[:2]) == 1
    assert await store.outboxes.read(tag) == entries[2:]
    assert await store.outboxes.clear(tag, []) == 1
