"""hf_rollout_active."""

from __future__ import annotations

from holdfast.model.rollouts import aborted, paused
from holdfast.store.store import Store
from tests.support.rollouts import released, started


async def test_rollouts_are_listed_until_they_are_over(store: Store) -> None:
    """With their deployments, also while they are paused."""
    assert await store.rollouts.active() == []
    ref = await released(store, tenant="acme")
    rollout = await started(store, ref)
    held = await store.rollouts.move(rollout, paused(rollout, rollout.step_at, ""), "c1")
    assert await store.rollouts.active() == [(ref, "r1")]
    await store.rollouts.move(held, aborted(held, held.step_at, "bad"), "c2")
    assert await store.rollouts.active() == []
