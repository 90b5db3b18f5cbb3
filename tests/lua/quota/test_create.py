"""hf_quota_create."""

from __future__ import annotations

import pytest

from holdfast.errors import QuotaConflict
from holdfast.model.moments import from_ms
from holdfast.model.quotas import NewQuota
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused


async def test_a_quota_is_as_it_was_asked_for(store: Store, clock: Clock) -> None:
    """Both limits, its tenant and its birth; nothing counts against it yet."""
    new = NewQuota(id="q", tenant="t", window_ms=1_000, max_per_window=5, max_concurrent=2)
    assert await store.quotas.create(new) is True
    found = await store.quotas.get("t/q")
    assert (found.id, found.tenant, found.created_at) == ("q", "t", from_ms(clock.now_ms))
    assert (found.window_ms, found.max_per_window, found.max_concurrent) == (1_000, 5, 2)
    assert (found.running, found.in_window, found.waiting, found.promised) == (0, 0, 0, 0)


async def test_the_same_again_is_no_news(store: Store, dump: Dump) -> None:
    """It is safe to send twice."""
    new = NewQuota(id="q", max_concurrent=2)
    await store.quotas.create(new)
    before = dump()
    assert await store.quotas.create(new) is False
    assert dump() == before


@pytest.mark.parametrize(
    "other",
    [
        NewQuota(id="q", max_concurrent=3),
        NewQuota(id="q", max_concurrent=2, max_per_window=1, window_ms=1),
    ],
)
async def test_other_content_is_refused(store: Store, dump: Dump, other: NewQuota) -> None:
    """An id means one quota."""
    await store.quotas.create(NewQuota(id="q", max_concurrent=2))
    await refused(store.quotas.create(other), QuotaConflict, dump, id="q")
