"""hf_deployment_describe."""

from __future__ import annotations

from holdfast.errors import AmbiguousDeployment, DeploymentNotFound
from holdfast.model.deployments import DeploymentRef
from holdfast.model.revisions import Lifecycle
from holdfast.store.store import Store
from tests.support.deployments import create, described, route, shares, stage
from tests.support.lifecycle import Dump, refused


async def test_a_deployment_has_its_revisions_in_order_and_its_split(store: Store) -> None:
    """As they were staged, whatever their ids."""
    ref = await create(store)
    for revision in ("b", "a"):
        await stage(store, ref, revision, Lifecycle.READY)
    await route(store, ref, a=10_000)
    found = await described(store, ref)
    assert [(one.id, one.number, one.lifecycle) for one in found.revisions] == [
        ("b", 1, Lifecycle.READY),
        ("a", 2, Lifecycle.READY),
    ]
    assert shares(found.split) == {"a": 10_000}


async def test_an_id_needs_no_tenant_while_it_means_one_deployment(
    store: Store, dump: Dump
) -> None:
    """Two tenants with the same id are told apart by name only."""
    ref = await create(store, tenant="acme")
    anybody = DeploymentRef(env="local", id="talk")
    assert (await described(store, anybody)).tenant == "acme"
    await create(store, tenant="other")
    await refused(described(store, anybody), AmbiguousDeployment, dump, id="talk", env="local")
    assert (await described(store, ref)).tenant == "acme"


async def test_what_is_not_there(store: Store, dump: Dump) -> None:
    """Of another env, or of another tenant."""
    await create(store, tenant="acme")
    for env, tenant in (("prod", "acme"), ("local", "other"), ("prod", None)):
        ref = DeploymentRef(env=env, id="talk", tenant=tenant)
        await refused(described(store, ref), DeploymentNotFound, dump, id="talk", env=env)
