"""`holdfast deploy`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.deployment_options import EnvOption
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.failures import FAILED
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption
from holdfast.model.deployments import DeploymentRef

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.deployments import Split
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
    #: Of the split that routes to it; None: the split did not change.
    generation: int | None


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
    no_shift: Annotated[
        bool, typer.Option("--no-shift", help="Leave the split as it is when it is ready.")
    ] = False,
    wait: Annotated[
        str, typer.Option("--wait", metavar="TIME", help="How long to wait until it is ready.")
    ] = "60s",
    env: EnvOption = "local",
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build a pack, upload it, wait until a host has loaded it, and route new sessions to it."""
    upload = _built(Path(pack), key)
    ref = DeploymentRef(env=env, id=deployment or upload.id, tenant=tenant)
    wait_s = inputs.duration_ms("wait", wait) / 1000

    async def work(engine: Engine) -> tuple[Revision, Split | None]:
        return await _deployed(engine, upload, ref, wait_s=wait_s, shifts=not no_shift)

    revision, split = opening.ask(store, work, create=True)
    output.answer(
        Deployed(
            deployment=ref.id,
            env=env,
            tenant=tenant,
            pack=upload.id,
            digest=upload.digest,
            revision=revision.id,
            lifecycle=revision.lifecycle.value,
            generation=None if split is None else split.generation,
        ),
        _said(ref, upload, revision, split),
        as_json=as_json,
    )
    if not no_shift and split is None:
        raise typer.Exit(FAILED)


async def _deployed(
    engine: Engine, upload: PackUpload, ref: DeploymentRef, *, wait_s: float, shifts: bool
) -> tuple[Revision, Split | None]:
    """Return the revision, and the split that routes to it if that is ready in time."""
    from holdfast.host import deploying

    revision = await deploying.upload(engine, upload, ref)
    try:
        async with asyncio.timeout(wait_s):
            revision = await deploying.wait_ready(engine, ref, revision.id)
    except TimeoutError:
        return revision, None
    return revision, await deploying.shift(engine, ref, revision.id) if shifts else None


def _said(ref: DeploymentRef, upload: PackUpload, revision: Revision, split: Split | None) -> str:
    """Return what happened, and what to do next."""
    what = f"revision {revision.id} of {ref.id} ({upload.id} {upload.version})"
    if split is not None:
        return f"{what} gets all new sessions (generation {split.generation})"
    at = "" if ref.env == "local" else f" --env {ref.env}"
    route = f"`holdfast split set {ref.id} {revision.id}=100{at}`"
    if revision.lifecycle == "ready":
        return f"{what} is ready; route to it with {route}"
    start = f"`holdfast host{at}`"
    what = f"{what} is {revision.lifecycle}: no host has loaded it yet"
    return f"{what}; start one with {start}, then route to it with {route}"


def _built(path: Path, key: str | None) -> PackUpload:
    from holdfast.host import packs

    data = packs.build(packs.load_folder(path)) if path.is_dir() else packs.read_archive_file(path)
    if key is not None:
        data = packs.sign(data, packs.PrivateKey.read(Path(key)))
    return packs.upload_of(data)
