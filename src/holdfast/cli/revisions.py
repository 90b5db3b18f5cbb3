"""`holdfast revisions`: what a deployment runs: list, show, stage, warm, ready, needs, archive."""

from __future__ import annotations

from dataclasses import replace
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
from holdfast.cli.deployments import show_revisions
from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Verbs
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import InvalidInput
from holdfast.model.figures import Figures
from holdfast.model.forecasts import Forecast
from holdfast.model.revisions import Gate, Revision

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.deployments import Deployment

app: typer.Typer = typer.Typer(cls=Verbs)

#: The gate that a person passes.
_BY_HAND = Gate(name="operator", passed=True)


@app.command()
def ls(
    deployment: DeploymentId,
    *,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the revisions of a deployment, with what needs each of them."""
    named = ref(deployment, env, tenant)
    found = opening.ask(store, lambda engine: engine.deployments.get(named))
    if as_json:
        output.emit({"items": found.revisions})
    else:
        show_revisions(found)


#: The columns of `shown_figures`.
FIGURES = ("turns", "failed", "p50", "p95")


def shown_figures(figures: Figures) -> tuple[object, ...]:
    """Return figures as people read them."""
    rate = "" if figures.error_rate_bps is None else f" ({figures.error_rate_bps / 100:g} %)"
    times_ms = (figures.p50_ms, figures.p95_ms)
    latencies = (None if one is None else f"{one} ms" for one in times_ms)
    return (figures.turns, f"{figures.failed}{rate}", *latencies)


@app.command()
def show(
    deployment: DeploymentId,
    revision: RevisionId,
    *,
    window: Annotated[
        str, typer.Option("--window", metavar="TIME", help="Figures of this time, up to 1h.")
    ] = "1h",
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a revision, what needs it and how long, and how its turns ended lately."""
    named = ref(deployment, env, tenant)
    window_ms = inputs.duration_ms("window", window)

    async def work(engine: Engine) -> tuple[Deployment, Figures, Forecast]:
        figures = await engine.deployments.figures(named, revision, window_ms=window_ms)
        forecast = await engine.deployments.forecast(named, revision)
        return await engine.deployments.get(named), figures, forecast

    found, figures, forecast = opening.ask(store, work)
    chosen = tuple(one for one in found.revisions if one.id == revision)
    if as_json:
        output.emit({"revision": chosen[0], "figures": figures, "forecast": forecast})
        return
    show_revisions(replace(found, revisions=chosen))
    output.say(f"until nothing needs it: {forecast.sentence}")
    output.show_table(FIGURES, [shown_figures(figures)], nothing="no figures")


@app.command()
def stage(
    deployment: DeploymentId,
    *,
    digest: Annotated[
        str | None, typer.Option("--digest", help="Of an uploaded pack; none for an app.")
    ] = None,
    revision_id: Annotated[
        str | None,
        typer.Option("--id", help="Unique in the store.", show_default="generated"),
    ] = None,
    overlay: Annotated[
        list[str] | None,
        typer.Option("--overlay", help="The digest of a pack to add. Repeatable."),
    ] = None,
    config: Annotated[
        str, typer.Option("--config", metavar="JSON", help="A JSON object, @FILE or - (stdin).")
    ] = "{}",
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stage a revision of a pack that was uploaded, or of an app."""
    named = ref(deployment, env, tenant)
    values = msgspec.json.decode(inputs.payload(config))
    if not isinstance(values, dict):
        raise InvalidInput("config: must be a JSON object", field="config")
    revision, _ = opening.ask(
        store,
        lambda engine: engine.deployments.stage(
            named, digest=digest, revision_id=revision_id, overlays=overlay or (), config=values
        ),
    )
    _say(revision, as_json=as_json)


def _say(revision: Revision, *, as_json: bool) -> None:
    output.answer(revision, f"revision {revision.id} is {revision.lifecycle}", as_json=as_json)


@app.command()
def warm(
    deployment: DeploymentId,
    revision: RevisionId,
    *,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let hosts load a revision and judge its gates."""
    named = ref(deployment, env, tenant)
    found = opening.ask(store, lambda engine: engine.deployments.warm(named, revision))
    _say(found, as_json=as_json)


@app.command()
def ready(
    deployment: DeploymentId,
    revision: RevisionId,
    *,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Pass the gates of a revision by hand, such as one of an app whose workers run."""
    named = ref(deployment, env, tenant)

    async def work(engine: Engine) -> Revision:
        seen = await engine.deployments.warm(named, revision)
        if seen.lifecycle == "ready":
            return seen
        return await engine.deployments.judge(named, revision, [_BY_HAND], seen=seen.version)

    _say(opening.ask(store, work), as_json=as_json)


@app.command()
def needs(
    deployment: DeploymentId,
    revision: RevisionId,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many on a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Continue where a page ended.")
    ] = None,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the executions that need a revision, such as those that keep its drain open."""
    named = ref(deployment, env, tenant)
    page = opening.ask(
        store,
        lambda engine: engine.deployments.needs(named, revision, limit=limit, cursor=cursor),
    )
    if as_json:
        output.emit(page)
        return
    rows = [
        (one.execution, one.state, one.hold or None, times.ago(one.since), one.session)
        for one in page.items
    ]
    columns = ("execution", "state", "waits for", "since", "session")
    output.show_table(columns, rows, nothing=f"nothing needs revision {revision}")
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}")


@app.command()
def archive(
    deployment: DeploymentId,
    revision: RevisionId,
    *,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep a revision for the record only."""
    named = ref(deployment, env, tenant)
    found = opening.ask(store, lambda engine: engine.deployments.archive(named, revision))
    _say(found, as_json=as_json)
