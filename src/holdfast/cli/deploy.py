"""`holdfast deploy`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.deployment_options import EnvOption
from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption
from holdfast.errors import DeploymentNotFound
from holdfast.model.deployments import DeploymentRef, NewDeployment

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.packs import PackUpload
    from holdfast.model.revisions import Revision


@dataclass(frozen=True, slots=True)
class Deployed:
    """What `holdfast deploy` did."""

    deployment: str
    env: str
    tenant: str
    pack: str
    digest: str
    revision: str
    lifecycle: str


def deploy(
    pack: Annotated[
        str, typer.Argument(metavar="PACK", help="The folder of a pack, or its archive.")
    ],
    *,
    deployment: Annotated[
        str | None,
        typer.Option("--id", help="The id of the deployment.", show_default="the id of the pack"),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="FILE", help="Sign with this private key.")
    ] = None,
    env: EnvOption = "local",
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build a pack, upload it, stage a revision of it and let hosts warm it up."""
    upload = _built(Path(pack), key)
    ref = DeploymentRef(env=env, id=deployment or upload.id, tenant=tenant)

    async def work(engine: Engine) -> Revision:
        await engine.packs.put(upload, tenant=tenant)
        new = NewDeployment(env=env, id=ref.id, tenant=tenant, pack=upload.id)
        await _ensure(engine, new, ref)
        revision, _ = await engine.deployments.stage(ref, digest=upload.digest)
        return await engine.deployments.warm(ref, revision.id)

    revision = opening.ask(store, work, create=True)
    output.answer(
        Deployed(
            deployment=ref.id,
            env=env,
            tenant=tenant,
            pack=upload.id,
            digest=upload.digest,
            revision=revision.id,
            lifecycle=revision.lifecycle.value,
        ),
        f"revision {revision.id} of {ref.id} ({upload.id} {upload.version}) is "
        f"{revision.lifecycle}; route to it with "
        f"`holdfast split set {ref.id} {revision.id}=100` when it is ready",
        as_json=as_json,
    )


async def _ensure(engine: Engine, new: NewDeployment, ref: DeploymentRef) -> None:
    """Create the deployment, unless one of this id exists, whatever its routes."""
    try:
        await engine.deployments.get(ref)
    except DeploymentNotFound:
        await engine.deployments.create(new)


def _built(path: Path, key: str | None) -> PackUpload:
    from holdfast.host import packs

    data = packs.build(packs.load_folder(path)) if path.is_dir() else packs.read_archive_file(path)
    if key is not None:
        data = packs.sign(data, packs.PrivateKey.read(Path(key)))
    return packs.upload_of(data)
