"""hf_quota_list."""

from __future__ import annotations

from holdfast.model.quotas import NewQuota
from holdfast.store.store import Store
from tests.support.fault_injection import meanwhile


async def test_pages_go_through_all_in_the_order_of_tenant_and_id(store: Store) -> None:
    """Whatever partition they are in, and nothing twice."""
    names = [("t1", "a"), ("t1", "b"), ("t1", "z"), ("t2", "c"), ("t3", "0")]
    for tenant, quota_id in reversed(names):
        await store.quotas.create(NewQuota(id=quota_id, tenant=tenant, max_concurrent=1))
    seen: list[tuple[str, str]] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        found, cursor = await store.quotas.list_quotas(None, 2, cursor)
        seen += [(one.tenant, one.id) for one in found]
        pages += 1
    assert (seen, pages) == (names, 3)


async def test_a_tenant_sees_its_own(store: Store) -> None:
    """A name that starts alike is another tenant."""
    for tenant in ("a", "a-b", "ab"):
        await store.quotas.create(NewQuota(id=f"q-{tenant}", tenant=tenant, max_concurrent=1))
    found, cursor = await store.quotas.list_quotas("a", 10, None)
    assert ([one.id for one in found], cursor) == (["q-a"], None)


async def test_one_that_is_removed_meanwhile_is_left_out(store: Store) -> None:
    """After the page was found, and before each of it is read."""
    for quota_id in ("gone", "here"):
        await store.quotas.create(NewQuota(id=quota_id, max_concurrent=1))

    async def remove() -> None:
        await store.quotas.delete("gone")

    with meanwhile(store.client, "hf_quota_get", remove):
        found, _ = await store.quotas.list_quotas(None, 10, None)
    assert [one.id for one in found] == ["here"]
