"""hf_split_set."""

from __future__ import annotations

import pytest

from holdfast.errors import (
    DeploymentNotFound,
    IdempotencyConflict,
    InvalidInput,
    RevisionNotFound,
    RevisionNotReady,
    StaleGeneration,
)
from holdfast.model.deployments import DeploymentRef, SplitEntry, check_entries
from holdfast.model.revisions import Lifecycle
from holdfast.store.actors import acting_as
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create, described, entries, route, shares, stage
from tests.support.lifecycle import Dump, refused


async def ready(store: Store, *revisions: str) -> DeploymentRef:
    """Create a deployment with revisions that are ready."""
    ref = await create(store)
    for revision in revisions:
        await stage(store, ref, revision, Lifecycle.READY)
    return ref


async def test_a_split_is_as_it_was_set(store: Store, clock: Clock) -> None:
    """With its generation, who set it and when; the one before is kept."""
    ref = await ready(store, "blue", "green")
    first = await route(store, ref, blue=10_000)
    assert (first.generation, shares(first)) == (1, {"blue": 10_000})
    await clock.advance(1_000)
    with acting_as("key-1"):
        second = await route(store, ref, blue=9_000, green=1_000)
    assert (second.generation, shares(second)) == (2, {"blue": 9_000, "green": 1_000})
    found = await described(store, ref)
    assert (found.split.at, found.split.by) == (clock.now, "key-1")
    assert [(one.generation, shares(one)) for one in found.past] == [(1, {"blue": 10_000})]


async def test_entries_remember_since_when_they_are_routable(store: Store) -> None:
    """Reweighting keeps it, leaving and coming back does not."""
    ref = await ready(store, "blue", "green")

    async def since(**weights: int) -> dict[str, int]:
        split = await route(store, ref, key="", **weights)
        return {entry.revision: entry.since for entry in split.entries}

    assert await since(blue=10_000) == {"blue": 1}
    assert await since(blue=5_000, green=5_000) == {"blue": 1, "green": 2}
    assert await since(blue=9_000, green=1_000) == {"blue": 1, "green": 2}
    assert await since(blue=0, green=10_000) == {"blue": 0, "green": 2}
    assert await since(blue=1_000, green=9_000) == {"blue": 5, "green": 2}
    assert await since(green=10_000) == {"green": 2}
    assert await since(blue=10_000) == {"blue": 7}


async def test_equal_content_is_a_no_op(store: Store, clock: Clock) -> None:
    """Under a key of its own, and even if a revision drains; the key is remembered."""
    ref = await ready(store, "blue", "green")
    await route(store, ref, blue=10_000, green=0)
    await store.deployments.move(ref, "green", Lifecycle.DRAINING)
    before = await described(store, ref)
    await clock.advance(1_000)
    again = await route(store, ref, key="other", blue=10_000, green=0)
    assert again.generation == 1
    assert await described(store, ref) == before
    assert await route(store, ref, key="other", blue=10_000, green=0) == again
    await refused_key(store, ref, "other", green=10_000)


async def refused_key(store: Store, ref: DeploymentRef, key: str, **weights: int) -> None:
    """Expect that a key was used for something else."""
    with pytest.raises(IdempotencyConflict):
        await store.deployments.set_split(ref, entries(**weights), expected=1, key=key)


async def test_a_repeated_call_gets_the_first_answer(store: Store, dump: Dump) -> None:
    """Whatever was set since, and though a revision has begun to drain."""
    ref = await ready(store, "blue", "green")
    first = await route(store, ref, key="one", blue=10_000)
    await route(store, ref, key="two", green=10_000)
    await store.deployments.move(ref, "blue", Lifecycle.DRAINING)
    before = dump()
    again = await store.deployments.set_split(ref, entries(blue=10_000), expected=0, key="one")
    assert again == first
    assert dump() == before


async def test_a_key_means_one_change(store: Store, dump: Dump) -> None:
    """Of the same content."""
    ref = await ready(store, "blue", "green")
    await route(store, ref, key="one", blue=10_000)
    other = store.deployments.set_split(ref, entries(green=10_000), expected=1, key="one")
    await refused(other, IdempotencyConflict, dump, id="talk", key="one")
    back = store.deployments.rollback(ref, None, "one")
    await refused(back, IdempotencyConflict, dump, id="talk", key="one")


async def test_the_last_20_keys_are_remembered(store: Store, dump: Dump) -> None:
    """A repetition of an earlier call is a call of its own."""
    ref = await ready(store, "blue", "green")
    for number in range(21):
        weights = {"blue": 5_000 + number, "green": 5_000 - number}
        await route(store, ref, key=f"key-{number}", **weights)
    before = dump()
    second = entries(blue=5_001, green=4_999)
    assert (await store.deployments.set_split(ref, second, expected=1, key="key-1")).generation == 2
    assert dump() == before
    first = store.deployments.set_split(ref, entries(blue=10_000), expected=0, key="key-0")
    await refused(first, StaleGeneration, dump, id="talk", generation=21)


async def test_two_who_change_the_same_generation(store: Store, dump: Dump) -> None:
    """The second has not seen what the first did."""
    ref = await ready(store, "blue", "green")
    await route(store, ref, blue=10_000)
    for expected in (0, 2):
        late = store.deployments.set_split(
            ref, entries(green=10_000), expected=expected, key=f"late-{expected}"
        )
        await refused(late, StaleGeneration, dump, id="talk", generation=1)


@pytest.mark.parametrize("state", [one for one in Lifecycle if one is not Lifecycle.READY])
async def test_only_what_is_ready_is_routable(store: Store, dump: Dump, state: Lifecycle) -> None:
    """With the weight 0 it is only listed."""
    ref = await ready(store, "blue")
    await stage(store, ref, "green", state)
    call = store.deployments.set_split(ref, entries(blue=9_999, green=1), expected=0, key="one")
    await refused(call, RevisionNotReady, dump, id="green", lifecycle=state.value)
    assert (await route(store, ref, blue=10_000, green=0)).generation == 1


async def test_what_is_not_there(store: Store, dump: Dump) -> None:
    """No deployment, or a revision of another."""
    nothing = DeploymentRef(env="local", id="nothing")
    call = store.deployments.set_split(nothing, entries(blue=10_000), expected=0, key="one")
    await refused(call, DeploymentNotFound, dump, id="nothing", env="local")
    ref, other = await create(store), await create(store, "other")
    await stage(store, other, "blue", Lifecycle.READY)
    call = store.deployments.set_split(ref, entries(blue=10_000), expected=0, key="one")
    await refused(call, RevisionNotFound, dump, id="blue")


@pytest.mark.parametrize("weights", [(9_999,), (10_000, 1), (5_000, 5_000, 5_000), (-1, 10_001)])
def test_weights_add_up_to_the_whole(weights: tuple[int, ...]) -> None:
    """Exactly; a split without entries routes nowhere."""
    assert check_entries([]) == ()
    with pytest.raises(InvalidInput):
        check_entries([SplitEntry(revision=f"r{n}", weight_bps=w) for n, w in enumerate(weights)])


def test_a_revision_is_named_once() -> None:
    """Two shares of one revision are one share."""
    half = SplitEntry(revision="blue", weight_bps=5_000)
    with pytest.raises(InvalidInput, match="once"):
        check_entries([half, half])
