"""hf_quota_get."""

from __future__ import annotations

from holdfast.errors import QuotaNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused
from tests.support.limits import admit, make_quota


async def test_it_counts_who_runs_who_started_and_who_waits(store: Store, clock: Clock) -> None:
    """A start leaves the window when it is as old as the window."""
    await make_quota(store, max_concurrent=2, max_per_window=9, window_ms=1_000)
    for name in ("a", "b", "c"):
        await admit(store, name)
    found = await store.quotas.get("q")
    assert (found.running, found.in_window, found.waiting) == (2, 2, 1)
    await clock.advance(999)
    assert (await store.quotas.get("q")).in_window == 2
    await clock.advance(1)
    assert (await store.quotas.get("q")).in_window == 0


async def test_each_value_of_a_tag_is_counted_apart(store: Store) -> None:
    """One definition, many counts."""
    await make_quota(store)
    assert await admit(store, "a", quotas=["q#x"])
    assert await admit(store, "b", quotas=["q#y"])
    assert not await admit(store, "c", quotas=["q#x"])
    assert (await store.quotas.get("q", "x")).running == 1
    assert (await store.quotas.get("q", "x")).waiting == 1
    assert (await store.quotas.get("q")).running == 0


async def test_an_unknown_quota_is_refused(store: Store, dump: Dump) -> None:
    """No quota, no answer."""
    await refused(store.quotas.get("none"), QuotaNotFound, dump, id="none")
