"""`holdfast drain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from holdfast.cli.deployment_options import (
    DeploymentId,
    EnvOption,
    RevisionId,
    TenantOption,
    ref,
)
from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.forecasts import Forecast
from holdfast.model.revisions import Lifecycle, Revision

if TYPE_CHECKING:
    from holdfast.api import Engine


def drain(
    deployment: DeploymentId,
    revision: RevisionId,
    *,
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline", help="What waits longer moves to another revision or ends: 1h, 3d."
        ),
    ] = None,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a revision start nothing more; prints what still needs it."""
    named = ref(deployment, env, tenant)
    deadline_ms = inputs.optional_ms("deadline", deadline)

    async def work(engine: Engine) -> tuple[Revision, Forecast]:
        found = await engine.deployments.drain(named, revision, deadline_ms=deadline_ms)
        return found, await engine.deployments.forecast(named, revision)

    found, forecast = opening.ask(store, work)
    shown = {**msgspec.to_builtins(found), "forecast": forecast}
    output.answer(shown, _sentence(found, forecast), as_json=as_json)


def _sentence(revision: Revision, forecast: Forecast) -> str:
    if revision.lifecycle is not Lifecycle.DRAINING:
        return f"revision {revision.id} is {revision.lifecycle}: nothing needs it"
    oldest = f", the oldest {times.ago(revision.oldest_wait)}" if revision.oldest_wait else ""
    until = f" until {times.stamp(revision.deadline_at)}" if revision.deadline_at else ""
    return (
        f"revision {revision.id} drains{until}: {output.count(revision.running, 'execution')} run, "
        f"{revision.waiting} wait{oldest}; until its end: {forecast.sentence}"
    )
