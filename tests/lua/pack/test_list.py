"""hf_pack_list."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.deployments import digest, upload


async def test_packs_are_listed_by_tenant_and_digest(store: Store) -> None:
    """Page by page; each tenant sees its own."""
    for tenant, letter in (("b", "a"), ("a", "c"), ("a", "b")):
        await store.packs.put(upload(letter), tenant)
    found, cursor = await store.packs.page(None, 2, None)
    assert [(one.tenant, one.digest) for one in found] == [("a", digest("b")), ("a", digest("c"))]
    rest, end = await store.packs.page(None, 2, cursor)
    assert [(one.tenant, one.digest) for one in rest] == [("b", digest("a"))]
    assert end is None
    own, _ = await store.packs.page("b", 50, None)
    assert [one.digest for one in own] == [digest("a")]
