"""`holdfast deploy`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.deployment_options import EnvOption
from holdfast.cli.rollout_options import steps as rollout_steps
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.failures import FAILED
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption
from holdfast.errors import InvalidInput
from holdfast.model.deployments import DeploymentRef

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.packs import PackUpload
    from holdfast.model.revisions import Revision
    from holdfast.model.rollouts import Rollout, Step


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
    #: The rollout that moves the split to it, if there is one.
    rollout: str | None = None


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
    steps: Annotated[
        str | None,
        typer.Option(
            "--steps",
            metavar="PERCENT:TIME,...",
            help="Start a rollout, such as 1%:10m,10%:30m,100%, if another revision is routed to.",
        ),
    ] = None,
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
    route = _Route(shifts=not no_shift, steps=rollout_steps(steps) if steps else None)
    deployed, said = opening.ask(
        store, lambda engine: _deployed(engine, upload, ref, wait_s, route), create=True
    )
    output.answer(deployed, said, as_json=as_json)
    if route.shifts and deployed.generation is None:
        raise typer.Exit(FAILED)


@dataclass(frozen=True, slots=True)
class _Route:
    """How new sessions get to the revision."""

    shifts: bool
    steps: tuple[Step, ...] | None

    def __post_init__(self) -> None:
        if self.steps and not self.shifts:
            raise InvalidInput("steps: exclude --no-shift", field="steps")


async def _deployed(
    engine: Engine, upload: PackUpload, ref: DeploymentRef, wait_s: float, route: _Route
) -> tuple[Deployed, str]:
    """Return what was done, for programs and for people."""
    revision = await _loaded(engine, upload, ref, wait_s=wait_s)
    generation: int | None = None
    rollout: Rollout | None = None
    if revision.lifecycle == "ready" and route.shifts:
        generation, rollout = await _routed(engine, ref, revision.id, route.steps)
    deployed = Deployed(
        deployment=ref.id,
        env=ref.env,
        tenant=ref.tenant or "default",
        pack=upload.id,
        digest=upload.digest,
        revision=revision.id,
        lifecycle=revision.lifecycle.value,
        generation=generation,
        rollout=None if rollout is None else rollout.id,
    )
    return deployed, _said(ref, upload, revision, generation, rollout)


async def _loaded(
    engine: Engine, upload: PackUpload, ref: DeploymentRef, *, wait_s: float
) -> Revision:
    """Return the revision, ready if a host has loaded it in time."""
    from holdfast.host import deploying

    revision = await deploying.upload(engine, upload, ref)
    try:
        async with asyncio.timeout(wait_s):
            return await deploying.wait_ready(engine, ref, revision.id)
    except TimeoutError:
        return revision


async def _routed(
    engine: Engine, ref: DeploymentRef, revision: str, steps: tuple[Step, ...] | None
) -> tuple[int, Rollout | None]:
    """Route to a revision, at once or step by step; return the generation of the split."""
    from holdfast.host import deploying

    if steps is not None:
        split = (await engine.deployments.get(ref)).split
        if any(one.weight_bps for one in split.entries if one.revision != revision):
            rollout = await engine.rollouts.start(ref, revision, steps)
            return rollout.generation, rollout
    return (await deploying.shift(engine, ref, revision)).generation, None


def _said(
    ref: DeploymentRef,
    upload: PackUpload,
    revision: Revision,
    generation: int | None,
    rollout: Rollout | None,
) -> str:
    """Return what happened, and what to do next."""
    what = f"revision {revision.id} of {ref.id} ({upload.id} {upload.version})"
    at = "" if ref.env == "local" else f" --env {ref.env}"
    if rollout is not None:
        share = f"{rollout.steps[0].weight_bps / 100:g} %"
        watch = f"`holdfast rollout show {ref.id} --watch{at}`"
        return f"{what} gets {share} of the new sessions, then more; follow it with {watch}"
    if generation is not None:
        return f"{what} gets all new sessions (generation {generation})"
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
