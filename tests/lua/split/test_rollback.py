"""hf_split_rollback."""

from __future__ import annotations

from holdfast.errors import (
    DeploymentNotFound,
    GenerationNotFound,
    IdempotencyConflict,
    RevisionNotFound,
    RevisionNotReady,
)
from holdfast.model.deployments import DeploymentRef
from holdfast.model.revisions import Lifecycle
from holdfast.store.store import Store
from tests.lua.split.test_set import ready
from tests.support.deployments import described, route, shares
from tests.support.lifecycle import Dump, refused


async def test_a_rollback_routes_as_the_generation_before(store: Store) -> None:
    """Under a new generation; those that were routable throughout stay so."""
    ref = await ready(store, "blue", "green")
    await route(store, ref, blue=10_000)
    await route(store, ref, blue=5_000, green=5_000)
    split = await store.deployments.rollback(ref, None, "back")
    assert (split.generation, shares(split)) == (3, {"blue": 10_000})
    assert split.entries[0].since == 1
    (event,) = await store.deployments.events(ref, 1)
    assert (event.event, event.generation, event.to) == ("rolled_back", 3, 1)


async def test_any_of_the_last_ten_can_be_returned_to(store: Store, dump: Dump) -> None:
    """Older ones are forgotten."""
    ref = await ready(store, "blue", "green")
    for number in range(12):
        await route(store, ref, blue=10_000 - number, green=number)
    found = await described(store, ref)
    assert [one.generation for one in found.past] == list(range(11, 1, -1))
    for generation in (1, 13):
        call = store.deployments.rollback(ref, generation, f"to-{generation}")
        await refused(call, GenerationNotFound, dump, id="talk", generation=generation)
    split = await store.deployments.rollback(ref, 2, "to-2")
    assert (split.generation, shares(split)) == (13, {"blue": 9_999, "green": 1})


async def test_a_rollback_to_what_is_routed_now_is_a_no_op(store: Store) -> None:
    """By its number, or because the content is equal."""
    ref = await ready(store, "blue", "green")
    await route(store, ref, blue=10_000)
    await route(store, ref, green=10_000)
    await route(store, ref, blue=10_000)
    for generation in (3, 1):
        split = await store.deployments.rollback(ref, generation, f"to-{generation}")
        assert split.generation == 3


async def test_a_repeated_rollback_goes_back_once(store: Store, dump: Dump) -> None:
    """Otherwise a lost reply would restore what was rolled back."""
    ref = await ready(store, "blue", "green")
    await route(store, ref, blue=10_000)
    await route(store, ref, green=10_000)
    first = await store.deployments.rollback(ref, None, "back")
    before = dump()
    assert await store.deployments.rollback(ref, None, "back") == first
    assert dump() == before
    other = store.deployments.rollback(ref, 2, "back")
    await refused(other, IdempotencyConflict, dump, id="talk", key="back")


async def test_its_revisions_must_be_ready(store: Store, dump: Dump) -> None:
    """And be there at all."""
    ref = await ready(store, "blue", "green")
    await route(store, ref, blue=10_000)
    await route(store, ref, green=10_000)
    await store.deployments.move(ref, "blue", Lifecycle.DRAINING)
    call = store.deployments.rollback(ref, None, "back")
    await refused(call, RevisionNotReady, dump, id="blue", lifecycle="draining")
    await store.client.call(["DEL", f"{store.global_tag}:revision:blue"])
    call = store.deployments.rollback(ref, None, "back")
    await refused(call, RevisionNotFound, dump, id="blue")


async def test_there_must_be_something_to_return_to(store: Store, dump: Dump) -> None:
    """A first split, and a deployment."""
    ref = await ready(store, "blue")
    call = store.deployments.rollback(ref, None, "back")
    await refused(call, GenerationNotFound, dump, id="talk", generation=0)
    nothing = DeploymentRef(env="local", id="nothing")
    call = store.deployments.rollback(nothing, None, "back")
    await refused(call, DeploymentNotFound, dump, id="nothing", env="local")
