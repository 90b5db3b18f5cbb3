"""Deploying a pack: upload, stage, warm up, wait until a host has loaded it, shift."""

from __future__ import annotations

import asyncio

from holdfast.api import Engine
from holdfast.errors import Conflict, DeploymentNotFound, StaleGeneration
from holdfast.model.deployments import (
    WHOLE_BPS,
    Deployment,
    DeploymentRef,
    NewDeployment,
    Split,
    SplitEntry,
)
from holdfast.model.packs import PackUpload
from holdfast.model.revisions import Lifecycle, Revision

_LOOK_S = 0.1


async def upload(engine: Engine, pack: PackUpload, ref: DeploymentRef) -> Revision:
    """Upload a pack and let hosts warm a revision of it up.

    The deployment is created unless one of this id exists, whatever its routes. A revision of the
    same pack that is warming or ready is used again.
    """
    tenant = ref.tenant or "default"
    await engine.packs.put(pack, tenant=tenant)
    try:
        deployment = await engine.deployments.get(ref)
    except DeploymentNotFound:
        new = NewDeployment(env=ref.env, id=ref.id, tenant=tenant, pack=pack.id)
        deployment, _ = await engine.deployments.create(new)
    for revision in reversed(deployment.revisions):
        if _is_same(revision, pack):
            return revision
    staged, _ = await engine.deployments.stage(ref, digest=pack.digest)
    return await engine.deployments.warm(ref, staged.id)


def _is_same(revision: Revision, pack: PackUpload) -> bool:
    return (
        revision.digest == pack.digest
        and not revision.overlays
        and not revision.config
        and revision.lifecycle in (Lifecycle.WARMING, Lifecycle.READY)
    )


async def wait_ready(engine: Engine, ref: DeploymentRef, revision_id: str) -> Revision:
    """Wait until a revision is ready; raises Conflict with the reasons if it fails."""
    while True:
        deployment = await engine.deployments.get(ref)
        revision = deployment.revision(revision_id)
        if revision is None or revision.lifecycle not in (Lifecycle.WARMING, Lifecycle.READY):
            raise Conflict(_why(deployment, revision_id), id=revision_id)
        if revision.lifecycle is Lifecycle.READY:
            return revision
        await asyncio.sleep(_LOOK_S)


def _why(deployment: Deployment, revision_id: str) -> str:
    revision = deployment.revision(revision_id)
    state = "gone" if revision is None else revision.lifecycle.value
    gates = () if revision is None else revision.gates
    reasons = "; ".join(f"{gate.name}: {gate.reason}" for gate in gates if not gate.passed)
    return f"revision {revision_id} is {state}" + (f": {reasons}" if reasons else "")


async def shift(engine: Engine, ref: DeploymentRef, revision_id: str) -> Split:
    """Give all new sessions to a revision, whatever the split is now."""
    entries = [SplitEntry(revision=revision_id, weight_bps=WHOLE_BPS)]
    while True:
        generation = (await engine.deployments.get(ref)).split.generation
        try:
            return await engine.deployments.set_split(ref, entries, expected_generation=generation)
        except StaleGeneration:
            # The split has changed in between.
            continue
