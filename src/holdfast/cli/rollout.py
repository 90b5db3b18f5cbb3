"""`holdfast rollout`: splits moved by steps: start, show, ls, pause, continue, promote, abort."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import rollout_options as options
from holdfast.cli.deployment_options import (
    DeploymentId,
    EnvOption,
    OneDeployment,
    RevisionId,
    TenantOption,
    ref,
)
from holdfast.cli.revisions import FIGURES, shown_figures
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.bundles import spread
from holdfast.cli.terminal.failures import FAILED
from holdfast.cli.terminal.groups import Verbs
from holdfast.cli.terminal.options import JsonOption, Reason, StoreOption
from holdfast.errors import RolloutNotFound
from holdfast.model.rollouts import Rollout, RolloutState, Step

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.api.rollouts import Rollouts
    from holdfast.model.deployments import DeploymentRef

app: typer.Typer = typer.Typer(cls=Verbs)

_LOOK_S = 1.0

IdOption = Annotated[
    str | None, typer.Option("--id", help="The rollout.", show_default="the last one")
]
WatchOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Print every change until it is over.")
]


@app.command()
def start(
    deployment: DeploymentId,
    revision: RevisionId,
    *,
    steps: Annotated[
        str, typer.Option("--steps", metavar="PERCENT:TIME,...", help=options.STEPS_HELP)
    ] = options.DEFAULT_STEPS,
    min_turns: options.MinTurnsOption = 20,
    error_rate: options.ErrorRateOption = "2%",
    latency: options.LatencyOption = "150%",
    watch: WatchOption = False,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move new sessions to a revision step by step, as long as its guards pass."""
    named, plan = ref(deployment, env, tenant), options.steps(steps)
    limits = options.guards(min_turns, error_rate, latency)

    async def work(engine: Engine) -> Rollout:
        begun = await engine.rollouts.start(named, revision, plan, guards=limits)
        return await _watched(engine, begun, as_json=as_json) if watch else begun

    _end(opening.ask(store, work), is_watched=watch, as_json=as_json)


@app.command()
def show(
    deployment: DeploymentId,
    *,
    rollout: IdOption = None,
    watch: WatchOption = False,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a rollout and the figures of its revisions."""
    named = ref(deployment, env, tenant)

    async def work(engine: Engine) -> Rollout:
        found = await engine.rollouts.get(named, await _chosen(engine, named, rollout))
        return await _watched(engine, found, as_json=as_json) if watch else found

    found = opening.ask(store, work)
    if watch or as_json:
        _end(found, is_watched=watch, as_json=as_json)
        return
    output.say(_sentence(found))
    rows = [
        (number, f"{step.weight_bps / 100:g} %", _lasts(step), _mark(found, number))
        for number, step in enumerate(found.steps, 1)
    ]
    output.show_table(("step", "share", "lasts", ""), rows, nothing="no steps")
    figures = [("new", found.revision, found.new), ("old", _old(found), found.old)]
    output.show_table(
        ("", "revision", *FIGURES),
        [(word, name, *shown_figures(one)) for word, name, one in figures if one is not None],
        nothing="no figures",
    )


@app.command()
def ls(
    deployment: DeploymentId,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many.")] = 20,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the last rollouts of a deployment, the newest first."""
    named = ref(deployment, env, tenant)
    found = opening.ask(store, lambda engine: engine.rollouts.list(named, limit=limit))
    if as_json:
        output.emit({"items": found})
        return
    rows = [
        (
            one.id,
            one.revision,
            one.state,
            f"{one.step}/{len(one.steps)}",
            times.ago(one.started_at),
            one.reason or None,
        )
        for one in found
    ]
    columns = ("rollout", "revision", "state", "step", "started", "reason")
    output.show_table(columns, rows, nothing="no rollouts")


@app.command()
@spread
def pause(*, rollout: IdOption = None, reason: Reason = "", target: OneDeployment) -> None:
    """Stay in the step until the rollout is continued."""
    _act(target, rollout, lambda rollouts, *chosen: rollouts.pause(*chosen, reason=reason))


@app.command("continue")
@spread
def continue_(*, rollout: IdOption = None, target: OneDeployment) -> None:
    """Continue a rollout that is paused."""
    _act(target, rollout, lambda rollouts, *chosen: rollouts.resume(*chosen))


@app.command()
@spread
def promote(*, rollout: IdOption = None, target: OneDeployment) -> None:
    """Give all new sessions to the new revision now."""
    _act(target, rollout, lambda rollouts, *chosen: rollouts.promote(*chosen))


@app.command()
@spread
def abort(*, rollout: IdOption = None, reason: Reason = "", target: OneDeployment) -> None:
    """End a rollout and return to the split before it."""
    _act(target, rollout, lambda rollouts, *chosen: rollouts.abort(*chosen, reason=reason))


def _act(
    target: OneDeployment,
    rollout: str | None,
    act: Callable[[Rollouts, DeploymentRef, str], Awaitable[Rollout]],
) -> None:
    async def work(engine: Engine) -> Rollout:
        chosen = await _chosen(engine, target.ref, rollout)
        return await act(engine.rollouts, target.ref, chosen)

    found = opening.ask(target.store, work)
    output.answer(found, _sentence(found), as_json=target.as_json)


async def _chosen(engine: Engine, named: DeploymentRef, rollout: str | None) -> str:
    """Return the id of a rollout, by default the last one."""
    if rollout is not None:
        return rollout
    last = await engine.rollouts.list(named, limit=1)
    if not last:
        message = f"deployment {named.id} has had no rollout"
        raise RolloutNotFound(message, id=named.id)
    return last[0].id


async def _watched(engine: Engine, rollout: Rollout, *, as_json: bool) -> Rollout:
    """Print what becomes of a rollout until it is over, and return its end."""
    seen = ""
    while True:
        line = _sentence(rollout)
        if not rollout.is_over and line != seen:
            output.answer(rollout, line, as_json=as_json)
            seen = line
        if rollout.is_over:
            return rollout
        await asyncio.sleep(_LOOK_S)
        rollout = await engine.rollouts.get(rollout.ref, rollout.id)


def _end(rollout: Rollout, *, is_watched: bool, as_json: bool) -> None:
    output.answer(rollout, _sentence(rollout), as_json=as_json)
    if is_watched and rollout.state is RolloutState.ABORTED:
        raise typer.Exit(FAILED)


def _sentence(rollout: Rollout) -> str:
    """Return how far a rollout is."""
    why = f": {rollout.reason}" if rollout.reason else ""
    if rollout.state is RolloutState.ABORTED and rollout.rolled_back:
        why = f", back to the split before{why}"
    share = f"{rollout.steps[rollout.step - 1].weight_bps / 100:g} %"
    at = f"step {rollout.step} of {len(rollout.steps)}, {share}"
    return f"rollout {rollout.id} of {rollout.revision} is {rollout.state}, {at}{why}"


def _mark(rollout: Rollout, number: int) -> str | None:
    if number == rollout.step and not rollout.is_over:
        return f"began {times.ago(rollout.step_at)}"
    return "done" if number < rollout.step or rollout.state is RolloutState.COMPLETED else None


def _lasts(step: Step) -> str | None:
    return times.span(step.duration_ms / 1000) if step.duration_ms else None


def _old(rollout: Rollout) -> str:
    return ", ".join(rollout.old_revisions)
