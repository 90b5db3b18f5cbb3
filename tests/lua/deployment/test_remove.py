"""hf_deployment_remove."""

from __future__ import annotations

import pytest

from holdfast.errors import (
    AmbiguousDeployment,
    DeploymentInUse,
    DeploymentNotFound,
    RevisionNotFound,
)
from holdfast.model.deployments import DeploymentRef
from holdfast.model.revisions import Lifecycle
from holdfast.model.rollouts import given_up
from holdfast.store.store import Store
from tests.support.deployments import create, described, route, stage
from tests.support.lifecycle import Dump, refused
from tests.support.rollouts import released, started

SERVED = (Lifecycle.WARMING, Lifecycle.READY, Lifecycle.DRAINING)


@pytest.mark.parametrize("state", list(Lifecycle))
async def test_a_deployment_that_hosts_serve_stays(
    store: Store, dump: Dump, state: Lifecycle
) -> None:
    """Every other one goes with its revisions."""
    ref = await create(store)
    await stage(store, ref, "blue", state)
    if state in SERVED:
        context = {"id": "talk", "by": "revision blue", "lifecycle": state.value}
        await refused(store.deployments.remove(ref), DeploymentInUse, dump, **context)
        return
    assert await store.deployments.remove(ref) == "default"
    await refused(store.deployments.remove(ref), DeploymentNotFound, dump, id="talk", env="local")
    assert await store.deployments.page("local", None, 10, None) == ([], None)
    assert (await store.deployments.changes("local", 0, 10))[1] == []
    # The ids are free.
    assert await create(store) == ref
    with pytest.raises(RevisionNotFound):
        await store.deployments.move(ref, "blue", Lifecycle.WARMING)


async def test_generations_go_on_under_the_same_name(store: Store) -> None:
    """Otherwise a pin of the deployment before could hold."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    await route(store, ref, blue=10_000)
    await route(store, ref)
    await store.deployments.move(ref, "blue", Lifecycle.DRAINING)
    await store.deployments.move(ref, "blue", Lifecycle.INACTIVE)
    await store.deployments.remove(ref)
    await create(store)
    found = await described(store, ref)
    assert (found.split.generation, found.split.entries, found.past) == (2, (), ())
    await stage(store, ref, "blue", Lifecycle.READY)
    assert (await route(store, ref, blue=10_000)).entries[0].since == 3


async def test_without_a_tenant_the_name_must_mean_one(store: Store, dump: Dump) -> None:
    """Of several, none is removed."""
    for tenant in ("acme", "beta"):
        await create(store, tenant=tenant)
    call = store.deployments.remove(DeploymentRef(env="local", id="talk"))
    await refused(call, AmbiguousDeployment, dump, id="talk", env="local")


async def test_rollouts_go_with_their_deployment(store: Store, dump: Dump) -> None:
    """Otherwise the next deployment of the name would be in one of them."""
    ref = await released(store)
    first = await started(store, ref)
    await store.rollouts.move(first, given_up(first, first.step_at, "no"), "c1")
    await started(store, ref, "r2")
    await route(store, ref)
    for revision in ("blue", "green"):
        await store.deployments.move(ref, revision, Lifecycle.DRAINING)
        await store.deployments.move(ref, revision, Lifecycle.INACTIVE)
    await store.deployments.remove(ref)
    assert [key for key in dump() if "rol" in key] == []
    await released(store)
    assert (await store.rollouts.page(ref, 10))[1] == []
    assert (await started(store, ref, "r2")).id == "r2"
