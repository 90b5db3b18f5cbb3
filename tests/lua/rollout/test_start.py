"""hf_rollout_start."""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import (
    AmbiguousDeployment,
    DeploymentNotFound,
    RevisionNotFound,
    RevisionNotReady,
    RolloutActive,
    RolloutConflict,
    StaleGeneration,
)
from holdfast.model.revisions import Lifecycle
from holdfast.model.rollouts import entries_at, given_up
from holdfast.store.actors import acting_as
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create, described, shares, stage
from tests.support.lifecycle import Dump, refused
from tests.support.rollouts import released, started


async def test_a_rollout_begins_with_the_split_of_its_first_step(
    store: Store, clock: Clock
) -> None:
    """The split and the rollout change together, and the log says who did it."""
    ref = await released(store)
    with acting_as("key-1"):
        rollout = await started(store, ref)
    found = await described(store, ref)
    assert shares(found.split) == {"blue": 9_000, "green": 1_000}
    assert (found.split.generation, found.split.by) == (rollout.generation, "key-1")
    assert await store.rollouts.get(ref, "r1") == (clock.now, rollout)
    assert await store.rollouts.active() == [(ref, "r1")]
    split, event = (await store.deployments.events(ref, 2))[:2]
    assert (split.event, event.event) == ("split", "rollout_started")
    assert (event.by, event.revision, event.rollout) == ("key-1", "green", "r1")


async def test_the_repeated_call_answers_as_the_first(store: Store, dump: Dump) -> None:
    """Whatever has become of the rollout since."""
    ref = await released(store)
    first = await started(store, ref)
    before = dump()
    assert await started(store, ref) == first
    assert dump() == before
    ended = await store.rollouts.move(first, given_up(first, first.step_at, "no"), "c1")
    assert await started(store, ref) == ended


async def test_one_rollout_at_a_time(store: Store, dump: Dump) -> None:
    """The next one starts when the last is over."""
    ref = await released(store)
    first = await started(store, ref)
    await refused(started(store, ref, "r2"), RolloutActive, dump, id="talk", rollout="r1")
    await store.rollouts.move(first, given_up(first, first.step_at, "no"), "c1")
    assert (await started(store, ref, "r2")).id == "r2"


async def test_an_id_means_one_rollout(store: Store, dump: Dump) -> None:
    """Not that of another deployment, and not of another revision."""
    ref = await released(store)
    first = await started(store, ref)
    other = await create(store, "other")
    entries = entries_at(first.before, "green", 1_000)
    for taken in (replace(first, deployment=other.id), replace(first, revision="blue")):
        start = store.rollouts.start(taken, entries, expected=1)
        await refused(start, RolloutConflict, dump, id="r1")


async def test_what_cannot_be_routed_does_not_start(store: Store, dump: Dump) -> None:
    """Another generation, revisions that are not ready or do not exist, missing deployments."""
    ref = await released(store)
    first = await started(store, ref)
    await store.rollouts.move(first, given_up(first, first.step_at, "no"), "c1")
    await stage(store, ref, "grey", Lifecycle.WARMING)
    new = replace(first, id="r2")
    stale = store.rollouts.start(new, entries_at(first.before, "green", 1), expected=1)
    await refused(stale, StaleGeneration, dump, id="talk", generation=2)
    grey = store.rollouts.start(new, entries_at(first.before, "grey", 1), expected=2)
    await refused(grey, RevisionNotReady, dump, id="grey", lifecycle="warming")
    gone = store.rollouts.start(new, entries_at(first.before, "gone", 1), expected=2)
    await refused(gone, RevisionNotFound, dump, id="gone")
    missing = store.rollouts.start(replace(new, deployment="gone"), first.before, expected=2)
    await refused(missing, DeploymentNotFound, dump, id="gone", env="local")
    await create(store, tenant="acme")
    unnamed = store.rollouts.start(replace(new, tenant=None), first.before, expected=2)  # type: ignore[arg-type]
    await refused(unnamed, AmbiguousDeployment, dump, id="talk", env="local")


async def test_the_last_twenty_are_remembered(store: Store) -> None:
    """The oldest is forgotten with its record."""
    ref = await released(store)
    for number in range(21):
        rollout = await started(store, ref, f"r{number}")
        await store.rollouts.move(rollout, given_up(rollout, rollout.step_at, "no"), "c")
        split = (await described(store, ref)).split
        await store.deployments.set_split(
            ref, rollout.before, expected=split.generation, key=f"k{number}"
        )
    _, found = await store.rollouts.page(ref, 50)
    assert [one.id for one in found] == [f"r{number}" for number in range(20, 0, -1)]
    assert (await started(store, ref, "r0")).version == 1
