"""Ways to the answers of envs, packs, deployments, revisions and splits."""

from __future__ import annotations

from holdfast.host import packs
from holdfast.model.deployments import DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.ids import new_id
from holdfast.model.revisions import Gate
from tests.server.answers.recipes import HANDLE, ROUTES, Stage, about_nothing, declaring, way
from tests.server.conftest import OURS, THEIRS
from tests.server.samples import ARCHIVE, Request, deployment, values_of

ALL = "/v1/envs/{env}/deployments"
ONE = ALL + "/{d}"
CREATE, STAGE = f"POST {ALL}", f"POST {ONE}/revisions"
SPLIT, ROLLBACK = f"PUT {ONE}/split", f"POST {ONE}/rollback"
REVISION = f"POST {ONE}/revisions/{{r}}"
WARM, JUDGE, DRAIN, ARCHIVED = (
    f"{REVISION}/{verb}" for verb in ("warm", "judge", "drain", "archive")
)
PASSED = [Gate(name="loads", passed=True)]


def _about_one(code: str) -> list[str]:
    return [name for name in declaring(code) if name != HANDLE]


way("deployment_not_found", *declaring("deployment_not_found"))(about_nothing)
way("env_not_found", *declaring("env_not_found"))(about_nothing)


@way(201, "PUT /v1/envs/{env}")
async def _new_env(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"env": f"env-{new_id()}"})


@way(200, "POST /v1/packs")
async def _uploaded(stage: Stage, name: str) -> Request:
    return await stage.sent(await stage.request(name))


@way("invalid_pack", "POST /v1/packs")
async def _damaged(stage: Stage, name: str) -> Request:
    return {**await stage.request(name), "content": ARCHIVE[:-1]}


@way("env_in_use", "DELETE /v1/envs/{env}")
async def _env_in_use(stage: Stage, name: str) -> Request:
    env = f"env-{new_id()}"
    await stage.engine.envs.put(env)
    new = NewDeployment(env=env, id="d", tenant=OURS, app="talk")
    await stage.engine.deployments.create(new)
    return await stage.request(name, {"env": env})


@way("pack_in_use", "DELETE /v1/packs/{digest}")
async def _pack_in_use(stage: Stage, name: str) -> Request:
    request = await _of_pack(stage, STAGE)
    await stage.sent(request)
    return await stage.request(name, {"digest": request["json"]["digest"]})


@way("deployment_in_use", f"DELETE {ONE}")
async def _in_use(stage: Stage, name: str) -> Request:
    return await stage.request(name, await _routed(stage, await deployment(stage.engine, OURS)))


@way("ambiguous_deployment", *_about_one("ambiguous_deployment"))
async def _two_tenants(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    other = NewDeployment(env="local", id=made, tenant=THEIRS, app="talk")
    await stage.engine.deployments.create(other)
    path = {"env": "local", "d": made, "r": f"r-{made}", "o": f"o-{made}"}
    return await stage.request(name, path, key=stage.operator)


@way(200, CREATE, STAGE)
async def _twice(stage: Stage, name: str) -> Request:
    path = {"env": "local", "d": await deployment(stage.engine, OURS)}
    return await stage.sent(await stage.request(name, path, id=f"x-{new_id()}"))


@way("deployment_conflict", CREATE)
async def _other_routes(stage: Stage, name: str) -> Request:
    return await stage.request(name, id=await deployment(stage.engine, OURS))


@way("revision_conflict", STAGE)
async def _taken(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    path = {"env": "local", "d": await deployment(stage.engine, OURS)}
    return await stage.request(name, path, id=f"r-{made}")


@way("too_many_revisions", STAGE)
async def _full(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    for _ in range(199):
        await stage.engine.store.deployments.stage(ref, new_id(), (), b"{}", packs_of=None)
    return await stage.request(name, {"env": "local", "d": made})


async def _of_pack(
    stage: Stage, name: str, *, env: str = "local", pack: str = "support"
) -> Request:
    upload = packs.upload_of(ARCHIVE)
    await stage.engine.packs.put(upload, tenant=OURS)
    new = NewDeployment(env=env, id=f"d-{new_id()}", tenant=OURS, pack=pack)
    made, _ = await stage.engine.deployments.create(new)
    return await stage.request(name, {"env": env, "d": made.id}, digest=upload.digest)


@way("pack_not_found", STAGE)
async def _no_pack(stage: Stage, name: str) -> Request:
    request = await _of_pack(stage, name)
    return {**request, "json": {"digest": "sha256:" + "0" * 64}}


FLOW = "GET /v1/packs/{digest}/flows/{flow}/layout"


@way("pack_not_found", FLOW)
async def _a_flow_of_no_pack(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"digest": "sha256:" + "0" * 64, "flow": "main"})


@way("flow_not_found", FLOW)
async def _no_such_flow(stage: Stage, name: str) -> Request:
    values = await values_of(ROUTES[name], stage.engine, OURS)
    return await stage.request(name, {**values, "flow": "no-such-flow"})


@way("pack_not_found", "DELETE /v1/packs/{digest}")
async def _unknown_pack(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"digest": "sha256:" + "0" * 64})


@way("pack_mismatch", STAGE)
async def _other_pack(stage: Stage, name: str) -> Request:
    return await _of_pack(stage, name, pack="shop")


@way("untrusted_pack", STAGE)
async def _unsigned(stage: Stage, name: str) -> Request:
    env = f"env-{new_id()}"
    await stage.engine.envs.put(env)
    return await _of_pack(stage, name, env=env)


@way("revision_not_found", *_about_one("revision_not_found"))
async def _no_revision(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    if name == ROLLBACK:
        # A split of a revision that was archived so long ago that it is gone.
        ref = DeploymentRef(env="local", id=made, tenant=OURS)
        await _routed(stage, made)
        other, _ = await stage.engine.deployments.stage(ref, revision_id=f"other-{made}")
        await _ready(stage, ref, other.id)
        entries = [SplitEntry(revision=other.id, weight_bps=10_000)]
        await stage.engine.deployments.set_split(ref, entries, expected_generation=1)
        await stage.write("DEL", f"{stage.engine.store.global_tag}:revision:r-{made}")
        return await stage.request(name, {"env": "local", "d": made})
    path = {"env": "local", "d": made, "r": "nothing"}
    return await stage.request(name, path)


async def _ready(stage: Stage, ref: DeploymentRef, revision: str) -> None:
    warming = await stage.engine.deployments.warm(ref, revision)
    await stage.engine.deployments.judge(ref, revision, PASSED, seen=warming.version)


async def _routed(stage: Stage, made: str) -> dict[str, str]:
    """Route a deployment to its revision, which is ready."""
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    await _ready(stage, ref, f"r-{made}")
    entries = [SplitEntry(revision=f"r-{made}", weight_bps=10_000)]
    await stage.engine.deployments.set_split(ref, entries, expected_generation=0)
    return {"env": "local", "d": made, "r": f"r-{made}"}


@way("revision_routable", DRAIN)
async def _routable(stage: Stage, name: str) -> Request:
    return await stage.request(name, await _routed(stage, await deployment(stage.engine, OURS)))


@way(200, JUDGE)
async def _judged(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    await stage.engine.deployments.warm(ref, f"r-{made}")
    return await stage.request(name, {"env": "local", "d": made, "r": f"r-{made}"})


@way("stale_lifecycle", JUDGE)
async def _stale(stage: Stage, name: str) -> Request:
    return await stage.request(name, seen=7)


@way("illegal_transition", WARM, JUDGE, DRAIN, ARCHIVED)
async def _illegal(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    path = {"env": "local", "d": made, "r": f"r-{made}"}
    if name == ARCHIVED:
        await _ready(stage, ref, f"r-{made}")
    else:
        await stage.engine.deployments.archive(ref, f"r-{made}")
    return await stage.request(name, path)


@way(200, DRAIN)
async def _drained(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    await _ready(stage, ref, f"r-{made}")
    return await stage.request(name, {"env": "local", "d": made, "r": f"r-{made}"})


@way(200, SPLIT, ROLLBACK)
async def _split(stage: Stage, name: str) -> Request:
    path = await _routed(stage, await deployment(stage.engine, OURS))
    if name == ROLLBACK:
        return await stage.request(name, path)
    entries = [{"revision": path["r"], "weight_bps": 10_000}]
    return await stage.request(name, path, entries=entries, expected_generation=1)


@way("stale_generation", SPLIT)
async def _changed(stage: Stage, name: str) -> Request:
    return await stage.request(name, expected_generation=3)


@way("generation_not_found", ROLLBACK)
async def _no_generation(stage: Stage, name: str) -> Request:
    return await stage.request(name, to_generation=7)


@way("idempotency_conflict", SPLIT, ROLLBACK)
async def _used(stage: Stage, name: str) -> Request:
    path = await _routed(stage, await deployment(stage.engine, OURS))
    ref = DeploymentRef(env="local", id=path["d"], tenant=OURS)
    entries = [SplitEntry(revision=path["r"], weight_bps=10_000)]
    await stage.engine.deployments.set_split(
        ref, entries, expected_generation=1, idempotency_key="mine"
    )
    return await stage.request(name, path, idempotency_key="mine")


@way("revision_not_ready", SPLIT, ROLLBACK)
async def _not_ready(stage: Stage, name: str) -> Request:
    made = await deployment(stage.engine, OURS)
    path = {"env": "local", "d": made, "r": f"r-{made}"}
    if name == SPLIT:
        entries = [{"revision": path["r"], "weight_bps": 10_000}]
        return await stage.request(name, path, entries=entries)
    await _routed(stage, made)
    ref = DeploymentRef(env="local", id=made, tenant=OURS)
    other, _ = await stage.engine.deployments.stage(ref, revision_id=f"other-{made}")
    await _ready(stage, ref, other.id)
    weights = [SplitEntry(revision=other.id, weight_bps=10_000)]
    await stage.engine.deployments.set_split(ref, weights, expected_generation=1)
    await stage.engine.deployments.drain(ref, path["r"])
    return await stage.request(name, path)
