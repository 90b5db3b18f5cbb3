"""hf_quota_holders."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.limits import admit, make_quota


async def test_it_names_who_holds_a_slot(store: Store) -> None:
    """Those that wait hold none; values of a tag have holders of their own."""
    await make_quota(store, max_concurrent=2)
    for name in ("a", "b", "c"):
        await admit(store, name)
    await admit(store, "d", quotas=["q#x"])
    assert sorted(await store.quotas.holders("q", None, 10)) == ["a", "b"]
    assert len(await store.quotas.holders("q", None, 1)) == 1
    assert await store.quotas.holders("q", "x", 10) == ["d"]
    assert await store.quotas.holders("none", None, 10) == []
