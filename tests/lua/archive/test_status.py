"""hf_archive_status."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.archives import end_retention
from tests.support.lifecycle import complete_one


async def test_it_counts_what_waits_and_knows_the_oldest(store: Store, clock: Clock) -> None:
    """Over all partitions."""
    await store.archives.set_url("s3://b")
    assert await store.archives.waiting() == (0, None)
    first = await complete_one(store)
    await clock.advance(1_000)
    await complete_one(store)
    assert await store.archives.waiting() == (0, None)
    born = (await store.archives.export(first)).born
    await end_retention(store, clock)
    assert await store.archives.waiting() == (2, born)
