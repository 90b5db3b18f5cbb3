"""hf_deployment_events."""

from __future__ import annotations

from holdfast.errors import DeploymentNotFound
from holdfast.model.deployments import DeploymentRef
from holdfast.model.revisions import Lifecycle
from holdfast.store.actors import acting_as
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create, route, stage
from tests.support.lifecycle import Dump, refused


async def test_what_happened_is_remembered_with_who_did_it(store: Store, clock: Clock) -> None:
    """The newest first."""
    ref = await create(store)
    await clock.advance(1_000)
    with acting_as("key-1"):
        await stage(store, ref, "blue", Lifecycle.READY)
    with acting_as("key-2"):
        await route(store, ref, blue=10_000)
    events = await store.deployments.events(ref, 50)
    assert [(one.event, one.by, one.revision, one.before) for one in events] == [
        ("split", "key-2", None, None),
        ("ready", "key-1", "blue", "warming"),
        ("warming", "key-1", "blue", "staged"),
        ("staged", "key-1", "blue", None),
        ("created", "", None, None),
    ]
    assert (events[0].generation, events[0].at) == (1, clock.now)
    assert [one.event for one in await store.deployments.events(ref, 1)] == ["split"]


async def test_of_what_is_not_there(store: Store, dump: Dump) -> None:
    """As any call."""
    ref = DeploymentRef(env="local", id="talk")
    events = store.deployments.events(ref, 50)
    await refused(events, DeploymentNotFound, dump, id="talk", env="local")
