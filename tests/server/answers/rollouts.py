"""Ways to the answers of rollouts."""

from __future__ import annotations

from holdfast.model.deployments import DeploymentRef, SplitEntry
from tests.server.answers.deployments import ONE
from tests.server.answers.recipes import Stage, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request, deployment, rollout

ALL = f"{ONE}/rollouts"
START, PROMOTE = f"POST {ALL}", f"POST {ALL}/{{o}}/promote"


async def _over(stage: Stage) -> dict[str, str]:
    """Return the path of a rollout that was aborted."""
    made = await rollout(stage.engine, OURS)
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    await stage.engine.rollouts.abort(ref, f"o-{made}")
    return {"env": "local", "d": made, "o": f"o-{made}"}


@way(201, START)
async def _started(stage: Stage, name: str) -> Request:
    path = await _over(stage)
    return await stage.request(name, path, revision=f"n-{path['d']}")


@way(200, f"POST {ALL}/{{o}}/continue")
async def _continued(stage: Stage, name: str) -> Request:
    made = await rollout(stage.engine, OURS)
    path = {"env": "local", "d": made, "o": f"o-{made}"}
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    await stage.engine.rollouts.pause(ref, path["o"])
    return await stage.request(name, path)


@way("no_split", START)
async def _unrouted(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    return await stage.request(name, {"env": "local", "d": made}, revision=f"r-{made}")


@way("revision_not_ready", START)
async def _not_ready(stage: Stage, name: str) -> Request:
    path = await _over(stage)
    ref = DeploymentRef(env="local", id=path["d"], tenant=OURS)
    other, _ = await stage.engine.deployments.stage(ref, revision_id=f"other-{path['d']}")
    return await stage.request(name, path, revision=other.id)


@way("stale_generation", START)
async def _changed(stage: Stage, name: str) -> Request:
    path = await _over(stage)
    return await stage.request(name, path, revision=f"n-{path['d']}", expected_generation=77)


@way("rollout_active", START)
async def _under_way(stage: Stage, name: str) -> Request:
    made = await rollout(stage.engine, OURS)
    return await stage.request(name, {"env": "local", "d": made}, revision=f"n-{made}")


@way("rollout_conflict", START)
async def _taken(stage: Stage, name: str) -> Request:
    path, other = await _over(stage), await rollout(stage.engine, OURS)
    return await stage.request(name, path, revision=f"n-{path['d']}", id=f"o-{other}")


@way("rollout_not_found", *declaring("rollout_not_found"))
async def _nothing(stage: Stage, name: str) -> Request:
    made = await rollout(stage.engine, OURS)
    return await stage.request(name, {"env": "local", "d": made, "o": "nothing"})


@way("rollout_over", *declaring("rollout_over"))
async def _ended(stage: Stage, name: str) -> Request:
    path = await _over(stage)
    if name.endswith("abort"):
        made = await rollout(stage.engine, OURS)
        ref = DeploymentRef(env="local", id=made, tenant=OURS)
        await stage.engine.rollouts.promote(ref, f"o-{made}")
        path = {"env": "local", "d": made, "o": f"o-{made}"}
    return await stage.request(name, path)


@way("stale_generation", PROMOTE)
async def _replaced(stage: Stage, name: str) -> Request:
    made = await rollout(stage.engine, OURS)
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    entries = [SplitEntry(revision=f"r-{made}", weight_bps=10_000)]
    await stage.engine.deployments.set_split(ref, entries, expected_generation=2)
    return await stage.request(name, {"env": "local", "d": made, "o": f"o-{made}"})
