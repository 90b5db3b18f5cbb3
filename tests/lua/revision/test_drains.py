"""hf_revision_drains."""

from __future__ import annotations

from holdfast.model.deployments import Drain
from holdfast.model.revisions import Lifecycle
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create, stage


async def test_revisions_are_listed_while_they_drain(store: Store) -> None:
    """With their deployments."""
    ref = await create(store, tenant="acme")
    await stage(store, ref, "blue", Lifecycle.DRAINING)
    await stage(store, ref, "green", Lifecycle.READY)
    drain = Drain(deployment=ref, revision="blue", left_ms=None)
    assert await store.deployments.drains() == [drain]
    await store.deployments.move(ref, "blue", Lifecycle.INACTIVE)
    assert await store.deployments.drains() == []


async def test_the_time_until_the_deadline_is_counted_by_the_store(
    store: Store, clock: Clock
) -> None:
    """From the begin of the drain, and below zero when it is overdue."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    fields = {"drain_ms": "5000"}
    await store.deployments.move(ref, "blue", Lifecycle.DRAINING, fields=fields)
    (drain,) = await store.deployments.drains()
    assert (drain.left_ms, drain.is_overdue) == (5000, False)
    await clock.advance(6000)
    (drain,) = await store.deployments.drains()
    assert (drain.left_ms, drain.is_overdue) == (-1000, True)
