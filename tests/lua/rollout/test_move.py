"""hf_rollout_move."""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import (
    AmbiguousDeployment,
    DeploymentNotFound,
    RevisionNotFound,
    RevisionNotReady,
    RolloutNotFound,
    StaleGeneration,
    StaleRollout,
)
from holdfast.model.deployments import SplitEntry
from holdfast.model.guards import Judgement, Verdict
from holdfast.model.revisions import Lifecycle
from holdfast.model.rollouts import Change, RolloutState, aborted, next_change, paused
from holdfast.store.store import Store
from tests.support.deployments import create, described, route, shares, stage
from tests.support.lifecycle import Dump, refused
from tests.support.rollouts import released, started

PASSED = Judgement(Verdict.PASSED)


async def test_a_step_changes_the_rollout_and_the_split_together(store: Store) -> None:
    """The version rises, and the key of the split names the rollout and the step."""
    ref = await released(store)
    rollout = await started(store, ref)
    later = rollout.step_at.replace(hour=1)
    change = next_change(rollout, later, PASSED)
    assert change is not None
    moved = await store.rollouts.move(rollout, change, "c1")
    assert moved == replace(change.rollout, version=2)
    found = await described(store, ref)
    assert (shares(found.split), found.split.generation) == (
        {"blue": 0, "green": 10_000},
        moved.generation,
    )


async def test_the_repeated_call_changes_nothing(store: Store, dump: Dump) -> None:
    """It gets the same answer."""
    ref = await released(store)
    rollout = await started(store, ref)
    change = aborted(rollout, rollout.step_at, "bad")
    first = await store.rollouts.move(rollout, change, "c1")
    before = dump()
    assert await store.rollouts.move(rollout, change, "c1") == first
    assert dump() == before


async def test_only_what_was_seen_is_changed(store: Store, dump: Dump) -> None:
    """Two who decide on the same version: one is refused."""
    ref = await released(store)
    rollout = await started(store, ref)
    await store.rollouts.move(rollout, paused(rollout, rollout.step_at, "wait"), "c1")
    abort = store.rollouts.move(rollout, aborted(rollout, rollout.step_at, "bad"), "c2")
    await refused(abort, StaleRollout, dump, id="r1", state="paused", version=2)


async def test_a_split_of_somebody_else_is_not_replaced(store: Store, dump: Dump) -> None:
    """Neither the rollout nor the split changes."""
    ref = await released(store)
    rollout = await started(store, ref)
    await route(store, ref, key="mine", blue=5_000, green=5_000)
    abort = store.rollouts.move(rollout, aborted(rollout, rollout.step_at, "bad"), "c1")
    await refused(abort, StaleGeneration, dump, id="talk", generation=3)


async def test_a_split_needs_revisions_that_are_ready(store: Store, dump: Dump) -> None:
    """As every split does."""
    ref = await released(store)
    await stage(store, ref, "grey", Lifecycle.STAGED)
    rollout = await started(store, ref)

    async def move(revision: str) -> None:
        entries = (SplitEntry(revision=revision, weight_bps=10_000),)
        await store.rollouts.move(rollout, Change(rollout, "rollout_step", entries), "c1")

    await refused(move("grey"), RevisionNotReady, dump, id="grey", lifecycle="staged")
    await refused(move("gone"), RevisionNotFound, dump, id="gone")


async def test_a_rollout_is_that_of_its_deployment(store: Store, dump: Dump) -> None:
    """Another deployment does not have it; a missing one is reported."""
    ref = await released(store)
    rollout = await started(store, ref)
    other = await create(store, "other")
    change = paused(rollout, rollout.step_at, "")
    foreign = store.rollouts.move(replace(rollout, deployment=other.id), change, "c1")
    await refused(foreign, RolloutNotFound, dump, id="r1")
    missing = store.rollouts.move(replace(rollout, deployment="gone"), change, "c1")
    await refused(missing, DeploymentNotFound, dump, id="gone", env="local")
    await create(store, tenant="acme")
    unnamed = store.rollouts.move(replace(rollout, tenant=None), change, "c1")  # type: ignore[arg-type]
    await refused(unnamed, AmbiguousDeployment, dump, id="talk", env="local")


async def test_a_rollout_that_is_over_is_active_no_more(store: Store) -> None:
    """One that is paused still is."""
    ref = await released(store)
    rollout = await started(store, ref)
    held = await store.rollouts.move(rollout, paused(rollout, rollout.step_at, ""), "c1")
    assert await store.rollouts.active() == [(ref, "r1")]
    ended = await store.rollouts.move(held, aborted(held, held.step_at, "bad"), "c2")
    assert (ended.state, await store.rollouts.active()) == (RolloutState.ABORTED, [])
    assert shares((await described(store, ref)).split) == {"blue": 10_000}
