"""Packs that a host serves: small ones, uploaded and moved along as a test needs them."""

from __future__ import annotations

from holdfast.api import Engine
from holdfast.host import packs
from holdfast.model.deployments import DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.packs import PackUpload
from holdfast.model.revisions import Lifecycle, Revision
from holdfast.testing.polling import wait_for
from tests.support.packs import pack_of

SHOP = DeploymentRef(env="local", id="shop", tenant="default")
#: Two messages: the conversation waits after the first, and ends with the second.
FLOW = """\
id: main
nodes:
  hello: {{emit: {{text: "{word}: name?"}}, out: name}}
  name: {{wait: {{}}, out: bye}}
  bye: {{emit: {{text: "{word}: bye {{{{ input.text }}}}"}}, out: end}}
"""


def shop(word: str, *, head: str = "", flow: str = FLOW, job: bool = False) -> PackUpload:
    """Return a pack whose replies begin with a word."""
    files = {
        "pack.yaml": f"id: shop\nversion: 1.0.0\n{head}".encode(),
        "flows/main.yaml": flow.format(word=word).encode(),
        "README.md": word.encode(),
    }
    if job:
        files["flows/nightly.yaml"] = b"id: nightly\ntype: timer\nnodes: {a: {set: {}}}\n"
    return packs.upload_of(packs.build(pack_of(files)))


async def stage(
    engine: Engine, revision: str, upload: PackUpload, ref: DeploymentRef = SHOP
) -> Revision:
    """Upload a pack, and begin to warm a revision of it up."""
    tenant = ref.tenant or "default"
    await engine.packs.put(upload, tenant=tenant)
    await engine.deployments.create(
        NewDeployment(env=ref.env, id=ref.id, tenant=tenant, pack=upload.id)
    )
    await engine.deployments.stage(ref, digest=upload.digest, revision_id=revision)
    return await engine.deployments.warm(ref, revision)


async def reached(
    engine: Engine, revision: str, state: Lifecycle, ref: DeploymentRef = SHOP
) -> Revision:
    """Wait until a revision is in a state."""

    async def look() -> Revision | None:
        found = (await engine.deployments.get(ref)).revision(revision)
        return found if found is not None and found.lifecycle is state else None

    found = await wait_for(look, timeout_s=20)
    assert found is not None
    return found


async def shift(engine: Engine, revision: str, ref: DeploymentRef = SHOP) -> None:
    """Give all new sessions to a revision."""
    generation = (await engine.deployments.get(ref)).split.generation
    entries = [SplitEntry(revision=revision, weight_bps=10_000)]
    await engine.deployments.set_split(ref, entries, expected_generation=generation)
