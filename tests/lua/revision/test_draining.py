"""hf_revision_draining."""

from __future__ import annotations

from holdfast.model.revisions import Lifecycle
from holdfast.store.store import Store
from tests.support.deployments import create, stage


async def test_revisions_are_listed_while_they_drain(store: Store) -> None:
    """With their deployments."""
    ref = await create(store, tenant="acme")
    await stage(store, ref, "blue", Lifecycle.DRAINING)
    await stage(store, ref, "green", Lifecycle.READY)
    assert await store.deployments.draining() == [(ref, "blue")]
    await store.deployments.move(ref, "blue", Lifecycle.INACTIVE)
    assert await store.deployments.draining() == []
