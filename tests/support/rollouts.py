"""Rollouts for tests: of `green`, after `blue`."""

from __future__ import annotations

from typing import Any

from holdfast.model.deployments import DeploymentRef
from holdfast.model.guards import Guards
from holdfast.model.moments import from_ms
from holdfast.model.revisions import Lifecycle
from holdfast.model.rollouts import Rollout, RolloutState, Step, entries_at
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS
from tests.support.deployments import create, described, route, stage

STEPS = (Step(weight_bps=1_000, duration_ms=60_000), Step(weight_bps=10_000))


async def released(store: Store, deployment: str = "talk", **fields: Any) -> DeploymentRef:
    """Create a deployment that routes to `blue`, and has `green` ready."""
    ref = await create(store, deployment, **fields)
    for revision in ("blue", "green"):
        await stage(store, ref, revision, Lifecycle.READY)
    await route(store, ref, blue=10_000)
    return ref


async def started(store: Store, ref: DeploymentRef, rollout_id: str = "r1") -> Rollout:
    """Start a rollout of `green`."""
    deployment = await described(store, ref)
    rollout = Rollout(
        id=rollout_id,
        env=ref.env,
        tenant=deployment.tenant,
        deployment=ref.id,
        revision="green",
        steps=STEPS,
        guards=Guards(),
        state=RolloutState.RUNNING,
        step=1,
        generation=deployment.split.generation + 1,
        before=deployment.split.entries,
        started_at=from_ms(START_MS),
        step_at=from_ms(START_MS),
    )
    entries = entries_at(rollout.before, "green", 1_000)
    return await store.rollouts.start(rollout, entries, expected=deployment.split.generation)
