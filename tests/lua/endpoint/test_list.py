"""hf_endpoint_list."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.endpoints import new


async def test_endpoints_are_listed_by_tenant_and_id(store: Store) -> None:
    """In pages, all of an env or those of a tenant."""
    for tenant, name in (("b", "one"), ("a", "two"), ("a", "three")):
        await store.endpoints.put(new(name, tenant=tenant))
    found, more = await store.endpoints.page("local", None, 2, None)
    assert [one.id for one in found] == ["three", "two"]
    found, more = await store.endpoints.page("local", None, 2, more)
    assert ([one.id for one in found], more) == (["one"], None)
    found, _ = await store.endpoints.page("local", "b", 2, None)
    assert [one.id for one in found] == ["one"]
    assert await store.endpoints.page("other", None, 2, None) == ([], None)


async def test_no_place_leads_to_endpoints_of_another_tenant(store: Store) -> None:
    """One that is not of the tenant leads to its first endpoint."""
    for tenant, name in (("a", "one"), ("b", "two"), ("c", "three")):
        await store.endpoints.put(new(name, tenant=tenant))
    for place in ("!", "a|", "b", "c|"):
        found, more = await store.endpoints.page("local", "b", 5, place)
        assert ([one.id for one in found], more) == (["two"], None)
    assert await store.endpoints.page("local", "b", 5, "b|x") == ([], None)
