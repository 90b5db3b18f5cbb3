"""hf_deployment_set."""

from __future__ import annotations

from holdfast.errors import AmbiguousDeployment, DeploymentNotFound
from holdfast.model.deployments import RESTART_TEXT, DeploymentRef
from holdfast.store.store import Store
from tests.support.deployments import create, described
from tests.support.lifecycle import Dump, refused


async def test_the_text_is_that_of_the_deployment(store: Store, dump: Dump) -> None:
    """The same again is no change."""
    ref = await create(store)
    assert (await described(store, ref)).restart_text == RESTART_TEXT
    await store.deployments.set_restart(ref, "Again, please.")
    before = dump()
    await store.deployments.set_restart(ref, "Again, please.")
    assert dump() == before
    assert (await described(store, ref)).restart_text == "Again, please."
    assert (await store.deployments.events(ref, 1))[0].event == "restart_text"


async def test_the_deployment_must_be_known(store: Store, dump: Dump) -> None:
    """And be the only one."""
    ref = DeploymentRef(env="local", id="talk")
    call = store.deployments.set_restart(ref, "x")
    await refused(call, DeploymentNotFound, dump, id="talk", env="local")
    for tenant in ("acme", "beta"):
        await create(store, tenant=tenant)
    call = store.deployments.set_restart(ref, "x")
    await refused(call, AmbiguousDeployment, dump, id="talk", env="local")
