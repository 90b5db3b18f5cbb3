"""`holdfast split`: how new sessions are divided between revisions: show, set, clear, rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.deployment_options import (
    DeploymentId,
    EnvOption,
    OneDeployment,
    TenantOption,
    percent_bps,
    ref,
)
from holdfast.cli.deployments import shares
from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.bundles import spread
from holdfast.cli.terminal.groups import Verbs
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.deployments import DeploymentRef, Split, SplitEntry

if TYPE_CHECKING:
    from holdfast.api import Engine

app: typer.Typer = typer.Typer(cls=Verbs)


@app.command()
@spread
def show(target: OneDeployment) -> None:
    """Show the split of a deployment, and those that a rollback can return to."""
    found = opening.ask(target.store, lambda engine: engine.deployments.get(target.ref))
    if target.as_json:
        output.emit({"split": found.split, "past": found.past})
        return
    splits = [found.split, *found.past] if found.split.generation else []
    rows = [
        (one.generation, shares(one), times.ago(one.at) if one.at else None, one.by or None)
        for one in splits
    ]
    output.show_table(
        ("generation", "split", "set", "by"), rows, nothing="no split: routes nowhere"
    )


@app.command("set")
def set_(
    deployment: DeploymentId,
    weights: Annotated[
        list[str],
        typer.Argument(
            metavar="REVISION=PERCENT...", help="Shares that add up to 100, such as blue=90."
        ),
    ],
    *,
    generation: Annotated[
        int | None,
        typer.Option(
            "--generation", help="The generation to replace.", show_default="the current one"
        ),
    ] = None,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Divide new sessions between revisions that are ready."""
    entries = [
        SplitEntry(revision=revision, weight_bps=percent_bps("weights", percent))
        for revision, percent in inputs.pairs("weights", weights).items()
    ]
    split = _route(ref(deployment, env, tenant), entries, generation, store)
    _say(split, as_json=as_json)


@app.command()
@spread
def clear(target: OneDeployment) -> None:
    """Route nowhere: no new session starts, such as before the deployment is deleted."""
    split = _route(target.ref, [], None, target.store)
    _say(split, as_json=target.as_json)


def _route(
    named: DeploymentRef, entries: list[SplitEntry], generation: int | None, store: str | None
) -> Split:
    async def work(engine: Engine) -> Split:
        expected = generation
        if expected is None:
            expected = (await engine.deployments.get(named)).split.generation
        return await engine.deployments.set_split(named, entries, expected_generation=expected)

    return opening.ask(store, work)


def _say(split: Split, *, as_json: bool) -> None:
    output.answer(split, f"generation {split.generation}: {shares(split)}", as_json=as_json)


@app.command()
def rollback(
    deployment: DeploymentId,
    *,
    to: Annotated[
        int | None,
        typer.Option("--to", help="A generation.", show_default="the one before"),
    ] = None,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Route as an earlier generation did, under a new generation."""
    named = ref(deployment, env, tenant)
    split = opening.ask(store, lambda engine: engine.deployments.rollback(named, to_generation=to))
    _say(split, as_json=as_json)
