"""hf_deployment_list."""

from __future__ import annotations

from holdfast.model.envs import Env
from holdfast.store.store import Store
from tests.support.deployments import create


async def test_deployments_are_listed_by_tenant_and_id(store: Store) -> None:
    """Page by page, of one env, and of one tenant if it is named."""
    await store.envs.put(Env(name="prod"))
    await create(store, "c", tenant="b", env="prod")
    for tenant, name in (("b", "a"), ("a", "d"), ("a", "b")):
        await create(store, name, tenant=tenant)
    found, cursor = await store.deployments.page("local", None, 2, None)
    assert [(one.tenant, one.id) for one in found] == [("a", "b"), ("a", "d")]
    rest, end = await store.deployments.page("local", None, 2, cursor)
    assert [(one.tenant, one.id) for one in rest] == [("b", "a")]
    assert end is None
    own, _ = await store.deployments.page("local", "b", 50, None)
    assert [one.id for one in own] == ["a"]
    assert await store.deployments.page("nothing", None, 50, None) == ([], None)
