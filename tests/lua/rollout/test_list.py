"""hf_rollout_list."""

from __future__ import annotations

from holdfast.errors import AmbiguousDeployment, DeploymentNotFound, RolloutNotFound
from holdfast.model.deployments import DeploymentRef
from holdfast.model.rollouts import aborted
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create
from tests.support.lifecycle import Dump, refused
from tests.support.rollouts import released, started


async def test_the_newest_comes_first(store: Store, clock: Clock) -> None:
    """With the time of the store; a deployment without rollouts has none."""
    ref = await released(store)
    assert await store.rollouts.page(ref, 5) == (clock.now, [])
    first = await started(store, ref)
    ended = await store.rollouts.move(first, aborted(first, clock.now, "bad"), "c1")
    second = await started(store, ref, "r2")
    await clock.advance(1_000)
    assert await store.rollouts.page(ref, 5) == (clock.now, [second, ended])
    assert await store.rollouts.page(ref, 1) == (clock.now, [second])


async def test_one_is_found_by_its_id(store: Store, dump: Dump) -> None:
    """In its own deployment."""
    ref = await released(store)
    rollout = await started(store, ref)
    assert (await store.rollouts.get(ref, "r1"))[1] == rollout
    await refused(store.rollouts.get(ref, "r2"), RolloutNotFound, dump, id="r2")
    other = await create(store, "other")
    await refused(store.rollouts.get(other, "r1"), RolloutNotFound, dump, id="r1")
    gone = DeploymentRef(env="local", id="gone")
    await refused(store.rollouts.get(gone, "r1"), DeploymentNotFound, dump, id="gone", env="local")
    await create(store, tenant="acme")
    both = DeploymentRef(env="local", id="talk")
    await refused(store.rollouts.page(both, 1), AmbiguousDeployment, dump, id="talk", env="local")
